// The reference provider: sandboxes that exist only as entries and files, behind the raw table of
// berth/abi.h. What runs in them is scripted, or, where the configuration says so, plain processes. It shows every obligation of the contract in the open, and a script can
// make it break each of them: late answers, lost answers, sandboxes that appear late, lies.
//
// Everything that is not scripted to wait completes inside its slot. No lock is held while the host
// is called. Made by the entry, deleted by its own shutdown. Slots are called on the host's loop.
#ifndef BERTH_PLUGINS_REFERENCE_PROVIDER_H_
#define BERTH_PLUGINS_REFERENCE_PROVIDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/abi.h"
#include "berth/host.hpp"
#include "berth/values.hpp"
#include "plugins/reference/boxes.h"
#include "plugins/reference/delays.h"
#include "plugins/reference/entries.h"
#include "plugins/reference/files.h"
#include "plugins/reference/script.h"

namespace berth::reference {

// The one endpoint there is.
inline constexpr std::string_view kEndpoint = "memory";

class Reference {
 public:
  explicit Reference(const berth_host_v1* host) : host_(host) {}

  void open(berth_op op, const berth_open_spec* from);
  void probe(berth_op op);
  void scope(berth_op op);
  void create(berth_op op, berth_str name, const berth_create_spec* from);
  void lookup(berth_op op, berth_str name);
  void fence(berth_op op, berth_str name);
  void run(berth_op op, berth_str ref, const berth_command* from);
  void put_file(berth_op op, berth_str ref, const berth_put_file_spec* from);
  void get_file(berth_op op, berth_str ref, const berth_get_file_spec* from);
  void destroy(berth_op op, berth_str name, berth_str ref);
  void list_owned(berth_op op, berth_str tag, berth_str cursor);
  void shutdown(berth_op op);

 private:
  using Step = std::function<void()>;
  // Has the effect of an operation, then calls `then`: at once, or later from a lent thread.
  using Action = std::function<void(const Step& then)>;

  static Action at_once(Step effect) {
    return [effect = std::move(effect)](const Step& then) {
      effect();
      then();
    };
  }

  void perform(berth_op op, const Rule& rule, Action action, Step answer);
  void act(berth_op op, const Rule& rule, const Action& action, const Step& answer);
  void acted(berth_op op, const Rule& rule, const Step& answer);
  int cancel_fd(berth_op op, const Rule& rule) const;
  void finish(berth_op op, const Rule& rule, const Step& answer);
  void answer_or_fail(berth_op op, const Rule& rule, const Step& answer);
  void cancelled_early(berth_op op);
  bool begin(berth_op op);
  void end();
  void close_down();

  Scope scope_of(const Rule& rule) const {
    return {{"account", rule.account.empty() ? script_->account() : rule.account},
            {"endpoint", std::string(kEndpoint)}};
  }
  std::string reported(const Rule& rule, const std::string& name) const {
    return rule.name.empty() ? name : rule.name;
  }
  std::optional<Entry> living(const std::string& name);
  void require_sandbox(const std::string& name);
  void make(const std::string& name, const CreateSpec& spec, const Rule& rule);
  void appear(const std::string& name, Entry late);
  Found find(const std::string& name);
  Found fence_now(const std::string& name);
  void run_scripted(berth_op op, const std::string& name, const Rule& rule);
  void run_on_host(berth_op op, const std::string& name, const Command& command, const Rule& rule);
  void end_programs(const std::string& name, const Step& then);
  void lend(Step work, Step then);
  ListPage page(std::string_view tag, std::string_view cursor);

  const Host host_;
  std::unique_ptr<Script> script_;  // set by open, like the next three
  std::unique_ptr<Entries> entries_;
  std::unique_ptr<Files> files_;
  Boxes* boxes_ = nullptr;  // files_, where programs really run
  Delays delays_;

  std::mutex mutex_;  // guards the three below
  bool open_ = false;
  std::uint64_t open_operations_ = 0;
  berth_op shutdown_op_ = 0;
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_PROVIDER_H_
