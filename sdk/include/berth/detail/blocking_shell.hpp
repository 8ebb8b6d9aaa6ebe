// SPDX-License-Identifier: Apache-2.0
//
// Runs a berth::Provider: every operation becomes a task on a thread the host lends.
#ifndef BERTH_DETAIL_BLOCKING_SHELL_HPP
#define BERTH_DETAIL_BLOCKING_SHELL_HPP

#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "berth/abi.h"
#include "berth/detail/gate.hpp"
#include "berth/detail/receive.hpp"

namespace berth {
inline namespace sdk_v1 {
namespace detail {

// Lends a thread to `work(args...)`, with the arguments `decode` makes on the calling thread. False
// when it will not run; `op` has then been completed as REJECTED, since nothing has happened yet.
template <class Decode, class Work>
bool lend(const Host& host, berth_op op, Decode decode, Work work) {
  try {
    auto args = decode();
    struct Task {
      Work work;
      decltype(args) arguments;
      static void run(void* user) {
        const std::unique_ptr<Task> task(static_cast<Task*>(user));
        std::apply(task->work, task->arguments);
      }
    };
    std::unique_ptr<Task> task(new Task{std::move(work), std::move(args)});
    if (host.post(&Task::run, task.get())) {
      static_cast<void>(task.release());
      return true;
    }
    answer_failure(host, op, OutcomeClass::kRejected, Code::kUnavailable,
                   "the host lends no thread any more");
  } catch (const Failure& failure) {
    answer_failure(host, op, failure.outcome_class(), failure.code(), failure.message());
  } catch (const std::exception& other) {
    answer_failure(host, op, OutcomeClass::kRejected, Code::kInternal, other.what());
  }
  return false;
}

template <class P, class Facts>
class BlockingShell : public Gate {
 public:
  using Base = typename P::BerthBase;
  static constexpr bool kFences = !std::is_same_v<decltype(&P::fence), decltype(&Base::fence)>;

  static const void* extension(std::string_view id) { return P::extension(id); }

  BlockingShell* next = nullptr;  // the list of all shells of this provider

  template <class Decode>
  void start_open(berth_op op, Decode decode) {
    if (!begin_open()) return answer_not_open(host(), op, Facts::kId, "open");
    const bool lent = lend(
        host(), op, [&] { return std::tuple(decode()); },
        [this, op](OpenSpec& spec) {
          guarded(host(), op, Facts::kId, "open", [&] {
            build_and_open(op, spec);
            answer_done(host(), op);
          });
        });
    if (!lent) set_phase(Phase::kEntered);
  }

  template <class Decode, class Call>
  void start(berth_op op, const char* slot, Decode decode, Call call) {
    if (!begin_operation()) return answer_not_open(host(), op, Facts::kId, slot);
    const bool lent = lend(host(), op, decode, [this, op, slot, call](auto&... args) {
      const Leave leave_at_end{*this};
      guarded(host(), op, Facts::kId, slot, [&] { perform(op, call, args...); });
    });
    if (!lent) leave();
  }

  void start_shutdown(berth_op op) {
    switch (begin_shutdown(op)) {
      case Closing::kNothingIsOpen:
        return answer_done(Host(host()), op);
      case Closing::kWhenOperationsEnd:
        return;
      case Closing::kStartNow:
        return lend_shutdown();
    }
  }

 private:
  struct Leave {
    BlockingShell& shell;
    ~Leave() { shell.leave(); }
  };

  void build_and_open(berth_op op, const OpenSpec& spec) {
    struct Undo {
      BlockingShell* shell;
      ~Undo() {
        if (shell == nullptr) return;
        shell->provider_.reset();
        shell->set_phase(Phase::kEntered);
      }
    } undo{this};
    Operation operation(host(), op);
    provider_ = std::make_unique<P>();
    static_cast<Base&>(*provider_).attach(host());
    provider_->open(operation, spec);
    undo.shell = nullptr;
    set_phase(Phase::kOpen);
  }

  template <class Call, class... Args>
  void perform(berth_op op, Call call, Args&... args) {
    Operation operation(host(), op);
    if constexpr (std::is_void_v<decltype(call(*provider_, operation, args...))>) {
      call(*provider_, operation, args...);
      answer_done(host(), op);
    } else {
      answer(host(), op, call(*provider_, operation, args...));
    }
  }

  void leave() {
    if (end_operation()) lend_shutdown();
  }

  // Runs the author's shutdown on a lent thread, or here when the host lends none any more: late is
  // better than never.
  void lend_shutdown() {
    const auto run = [](void* self) { static_cast<BlockingShell*>(self)->finish(); };
    if (!host().post(run, this)) finish();
  }

  // After the completion this shell may be entered again, so nothing of it is touched then.
  void finish() {
    const Host host_copy = host();
    const berth_op op = shutdown_op();
    guarded(host_copy, op, Facts::kId, "shutdown", [&] {
      {
        const std::unique_ptr<P> provider = std::move(provider_);
        struct Vacate {
          Gate& gate;
          ~Vacate() { gate.set_phase(Phase::kVacant); }
        };
        Operation operation(host_copy, op);
        const Vacate vacate{*this};
        provider->shutdown(operation);
      }
      answer_done(host_copy, op);
    });
  }

  std::unique_ptr<P> provider_;
};

}  // namespace detail
}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_DETAIL_BLOCKING_SHELL_HPP
