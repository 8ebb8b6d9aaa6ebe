// ScriptedHost: stands between a TableDriver and a provider, in both directions.
//
// The driver judges what a host can judge; this sees what a host cannot afford to look at: how long a
// slot takes, what is called after the end, and whether memory is touched after it was taken back.
// Arguments of every operation lie in memory of their own that faults once it is complete.
#ifndef BERTH_CORE_CONFORMANCE_SCRIPTED_HOST_H_
#define BERTH_CORE_CONFORMANCE_SCRIPTED_HOST_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "core/base/time.h"
#include "core/conformance/guarded.h"
#include "core/plugin/abi_reply.h"
#include "core/plugin/binding.h"
#include "core/plugin/request.h"

namespace berth::conformance {

class ScriptedHost {
 public:
  using OnViolation = std::function<void(plugin::Violation)>;

  // `inner` is the driver's own table; it and the function outlive this.
  ScriptedHost(const berth_host_v1& inner, OnViolation on_violation);
  ScriptedHost(const ScriptedHost&) = delete;
  ScriptedHost& operator=(const ScriptedHost&) = delete;

  // What the provider is given.
  const berth_host_v1& table() const { return *table_; }
  // The binding with every slot led through here.
  plugin::Binding wrap(plugin::Binding binding);

  // Around the host's letting more output of `op` come: what overlaps with that is not judged.
  void grant_begins(plugin::OpId op);
  void grant_ends(plugin::OpId op);
  // How long the slot that started `op` took to return; zero while it has not.
  Duration slot_time(plugin::OpId op);
  // The provider's own answer, without any of the host's checks.
  const void* extension(std::string_view id);
  const berth_provider_v1& provider() const { return provider_; }
  void* provider_self() const { return self_; }
  // Changes what the next create or run is given, to what no host type can say.
  void change_create(std::function<void(berth_create_spec&)> change) { create_change_ = std::move(change); }
  void change_command(std::function<void(berth_command&)> change) { command_change_ = std::move(change); }

  // From here on tasks run on threads of their own, and the next time one of those calls the host, its
  // thread is unwound by force, as a cancelled thread is.
  void unwind_next_task() { unwinding_ = true; }
  bool unwound() const { return unwound_; }

  // How often the provider has called the host.
  std::uint64_t callbacks() const { return callbacks_; }

 private:
  struct Slots;
  struct HostTable;
  struct Lent {
    std::shared_ptr<Guarded> memory;
    Duration slot_time{0};
    bool shutdown = false;
    std::uint32_t limited = 0;  // a bit for each stream that was answered LIMIT
    bool paused = false;        // answered PAUSE, and nothing was granted since
    bool granting = false;
    std::uint32_t grants = 0;
    std::uint32_t while_paused = 0;
  };

  void lend(berth_op op, std::shared_ptr<Guarded> memory, bool shutdown);
  void returned(berth_op op, std::chrono::steady_clock::time_point started);
  void completed(berth_op op);
  void called(std::string_view function);
  // How often something has been granted so far.
  std::uint32_t sends(berth_op op, berth_stream stream, std::uint64_t size);
  void answered(berth_op op, berth_stream stream, berth_flow flow, std::uint32_t grants);

  const berth_host_v1& inner_;
  OnViolation on_violation_;
  Guarded table_memory_;
  berth_host_v1* table_ = nullptr;
  berth_provider_v1 provider_{};
  void* self_ = nullptr;
  std::mutex mutex_;
  std::map<berth_op, Lent> lent_;
  std::function<void(berth_create_spec&)> create_change_;
  std::function<void(berth_command&)> command_change_;
  std::atomic<bool> unwinding_{false};
  std::atomic<bool> unwound_{false};
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> callbacks_{0};
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_SCRIPTED_HOST_H_
