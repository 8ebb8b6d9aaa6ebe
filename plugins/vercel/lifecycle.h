// Making, finding and ending sandboxes at Vercel.
#ifndef BERTH_PLUGINS_VERCEL_LIFECYCLE_H_
#define BERTH_PLUGINS_VERCEL_LIFECYCLE_H_

#include <optional>
#include <string>
#include <string_view>

#include "berth/async_provider.hpp"
#include "plugins/http/ended_names.h"
#include "plugins/vercel/api.h"
#include "plugins/vercel/model.h"

namespace berth::vercel {

// The slots of these names, with everything the contract says of them. One thread; the Api outlives
// it.
class Lifecycle {
 public:
  Lifecycle(Api& api, std::string_view state_dir) : api_(api), ended_(state_dir) {}

  Awaitable<ProbeReport> probe(AsyncOperation& operation);
  Awaitable<Created> create(AsyncOperation& operation, std::string name, const CreateSpec& spec);
  Awaitable<Found> lookup(AsyncOperation& operation, std::string name);
  Awaitable<Destroyed> destroy(AsyncOperation& operation, std::string name, std::string ref);
  Awaitable<ListPage> list_owned(AsyncOperation& operation, std::string tag, std::string cursor);

 private:
  // What a look at one name established. It never starts what was stopped.
  struct Look {
    enum class Kind { kThere, kAbsent, kUnknown };
    Kind kind = Kind::kUnknown;
    std::optional<Sandbox> sandbox;  // with kThere
    std::string why;                 // with kUnknown
    Code code = Code::kUnavailable;
  };

  Awaitable<Look> look(AsyncOperation& operation, std::string name);
  // Whether the project is in sight at all and lists no such name: what a bare 404 leaves open.
  Awaitable<bool> is_unlisted(AsyncOperation& operation, std::string name);
  Awaitable<Look> look_until(AsyncOperation& operation, std::string name, Clock::time_point end);
  // What a sandbox has to be to be the one that is meant.
  struct Wanted {
    std::string name;
    std::string owner;
  };
  Awaitable<Created> after_answer(AsyncOperation& operation, const Answer& answer,
                                  const Wanted& wanted);
  Awaitable<Created> adopt(AsyncOperation& operation, const Wanted& wanted, std::string why,
                           Code code);
  Awaitable<Created> until_running(AsyncOperation& operation, const Wanted& wanted,
                                   Sandbox sandbox);

  // One attempt after the other to end a sandbox; see ending.cc.
  struct End {
    bool session_over = false;
    bool record_gone = false;
    std::string session;
    std::optional<Usage> usage;
    std::string why;  // not yet
    Code code = Code::kTimeout;
    bool gone() const { return session_over && record_gone; }
  };
  Awaitable<void> stop(AsyncOperation& operation, End& end);
  Awaitable<void> remove(AsyncOperation& operation, End& end, std::string name);
  Awaitable<void> confirm_session(AsyncOperation& operation, End& end);
  Awaitable<void> end(AsyncOperation& operation, End& end, const Wanted& wanted,
                      Clock::time_point give_up);
  [[noreturn]] static void give_up_create(const End& end, Code code, const std::string& why);
  static void require_identity(const Sandbox& sandbox, const Wanted& wanted);

  Api& api_;
  http::EndedNames ended_;
};

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_LIFECYCLE_H_
