// Making, finding and ending sandboxes at Daytona.
#ifndef BERTH_PLUGINS_DAYTONA_LIFECYCLE_H_
#define BERTH_PLUGINS_DAYTONA_LIFECYCLE_H_

#include <optional>
#include <string>
#include <string_view>

#include "berth/async_provider.hpp"
#include "plugins/daytona/api.h"
#include "plugins/http/ended_names.h"

namespace berth::daytona {

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
  Awaitable<ProbeItem> probe_image(AsyncOperation& operation, bool& usable);
  // What a look at one sandbox established.
  struct Look {
    enum class Kind { kThere, kAbsent, kUnknown };
    Kind kind = Kind::kUnknown;
    std::optional<Sandbox> sandbox;  // with kThere
    std::string why;                 // with kUnknown
    Code code = Code::kUnavailable;
  };

  Awaitable<Look> look(AsyncOperation& operation, std::string id_or_name);
  Awaitable<Look> look_until(AsyncOperation& operation, std::string name, Clock::time_point end);
  Awaitable<Created> after_answer(AsyncOperation& operation, const Answer& answer,
                                  const std::string& name);
  Awaitable<Created> adopt(AsyncOperation& operation, std::string name, std::string why, Code code);
  Awaitable<Created> until_started(AsyncOperation& operation, Sandbox sandbox);
  // Deletes, and looks until it is gone or the time is over.
  struct End {
    bool gone = false;
    std::string why;  // when not
  };
  Awaitable<End> end(AsyncOperation& operation, Sandbox sandbox, Clock::time_point give_up);
  Awaitable<std::string> request_deletion(AsyncOperation& operation, std::string id, int attempt);
  Awaitable<std::optional<Sandbox>> delete_unseen(AsyncOperation& operation,
                                                  std::string id_or_name);
  // The sandbox that is left of a name; nothing when there is established to be none.
  Awaitable<std::optional<Sandbox>> left_of(AsyncOperation& operation, std::string name,
                                            std::string ref);
  Awaitable<Answer> list(AsyncOperation& operation, std::string_view label, std::string_view value,
                         std::string_view cursor);
  [[noreturn]] void give_up_create(const End& end, Code code, const std::string& why) const;
  void require_identity(const Sandbox& sandbox, const std::string& name) const;

  Api& api_;
  http::EndedNames ended_;
};

}  // namespace berth::daytona

#endif  // BERTH_PLUGINS_DAYTONA_LIFECYCLE_H_
