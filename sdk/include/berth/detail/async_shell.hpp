// SPDX-License-Identifier: Apache-2.0
//
// Runs a berth::AsyncProvider: every operation becomes a coroutine on one thread of the provider's
// own.
#ifndef BERTH_DETAIL_ASYNC_SHELL_HPP
#define BERTH_DETAIL_ASYNC_SHELL_HPP

#include <pthread.h>
#include <signal.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

#include "berth/async_provider.hpp"
#include "berth/detail/gate.hpp"

namespace berth {
inline namespace sdk_v1 {
namespace detail {

// The provider's thread. It takes no signals: those are the host's.
class Loop {
 public:
  Loop() : guard_(context_.get_executor()), thread_([this] { run(); }) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  // Not from the loop's own thread.
  ~Loop() {
    { const std::lock_guard lock(starting_); }
    guard_.reset();
    context_.stop();
    thread_.join();
  }
  boost::asio::io_context& context() { return context_; }

  // Asio wakes the loop after it has let go of its own lock: the coroutine may have ended by then,
  // and another thread be about to destroy what is being woken.
  void spawn(boost::asio::awaitable<void> coroutine) {
    const std::lock_guard lock(starting_);
    boost::asio::co_spawn(context_, std::move(coroutine), boost::asio::detached);
  }

 private:
  void run() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    context_.run();
  }

  std::mutex starting_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

// What must be seen to its end even when the host has lost interest. [CANC-002]
inline bool ends_by_cancellation(std::string_view slot) {
  return slot != "create" && slot != "fence" && slot != "destroy";
}

template <class P, class Facts>
class AsyncShell : public Gate {
 public:
  using Base = typename P::BerthBase;
  static constexpr bool kFences = !std::is_same_v<decltype(&P::fence), decltype(&Base::fence)>;

  static const void* extension(std::string_view id) { return P::extension(id); }

  AsyncShell* next = nullptr;  // the list of all shells of this provider

  template <class Decode>
  void start_open(berth_op op, Decode decode) {
    if (!begin_open()) return answer_not_open(host(), op, Facts::kId, "open");
    try {
      const OpenSpec spec = decode();
      if (!loop_) loop_ = std::make_unique<Loop>();
      loop_->spawn(perform_open(op, spec));
    } catch (...) {
      refuse(op, "open", std::current_exception());
      set_phase(Phase::kEntered);
    }
  }

  template <class Decode, class Call>
  void start(berth_op op, const char* slot, Decode decode, Call call) {
    if (!begin_operation()) return answer_not_open(host(), op, Facts::kId, slot);
    try {
      auto running = std::make_shared<Running>(loop_->context());
      if (ends_by_cancellation(slot)) {
        const OperationBaseAccess operation(host(), op);
        running->take(operation.cancel_fd(), operation.deadline());
      }
      auto arguments = decode();
      // On the loop, so that the watch cannot fire before there is something to cancel.
      boost::asio::post(loop_->context(), [this, op, slot, call, running,
                                           arguments = std::move(arguments)]() mutable {
        // The completion keeps `running`, because Asio looks at the signal once more after the
        // coroutine.
        boost::asio::co_spawn(loop_->context(),
                              perform(op, slot, call, std::move(arguments), running),
                              boost::asio::bind_cancellation_slot(
                                  running->signal.slot(), [running](std::exception_ptr) {}));
        running->end_when_cancelled();
      });
    } catch (...) {
      refuse(op, slot, std::current_exception());
      leave();
    }
  }

  void start_shutdown(berth_op op) {
    switch (begin_shutdown(op)) {
      case Closing::kNothingIsOpen:
        return answer_done(Host(host()), op);
      case Closing::kWhenOperationsEnd:
        return;
      case Closing::kStartNow:
        return spawn_shutdown();
    }
  }

 private:
  struct OperationBaseAccess : OperationBase {
    using OperationBase::OperationBase;
    ~OperationBaseAccess() = default;
  };

  // One operation under way: the signal that ends its waits, and the watch on the host's cancel.
  struct Running : std::enable_shared_from_this<Running> {
    explicit Running(boost::asio::io_context& loop) : context(loop), cancel(loop), late(loop) {}

    void take(int cancel_fd, std::optional<std::chrono::nanoseconds> deadline) {
      if (cancel_fd >= 0) cancel = watch(context.get_executor(), cancel_fd);
      // A deadline is a cancellation, whether or not the host says so as well. [CANC-004]
      if (deadline)
        late.expires_at(std::chrono::steady_clock::time_point(
            std::chrono::ceil<std::chrono::steady_clock::duration>(*deadline)));
      has_deadline = deadline.has_value();
    }

    void close() {
      boost::system::error_code ignored;
      cancel.close(ignored);
      late.cancel();
    }

    void end_when_cancelled() {
      if (has_deadline)
        late.async_wait([self = this->shared_from_this()](const boost::system::error_code& wrong) {
          if (!wrong) self->signal.emit(boost::asio::cancellation_type::terminal);
        });
      if (!cancel.is_open()) return;
      cancel.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                        [self = this->shared_from_this()](const boost::system::error_code& wrong) {
                          if (!wrong) self->signal.emit(boost::asio::cancellation_type::terminal);
                        });
    }

    boost::asio::io_context& context;
    boost::asio::cancellation_signal signal;
    boost::asio::posix::stream_descriptor cancel;
    boost::asio::steady_timer late;
    bool has_deadline = false;
  };

  // An operation that could not even be started: nothing has happened.
  void refuse(berth_op op, const char* slot, std::exception_ptr wrong) {
    try {
      std::rethrow_exception(wrong);
    } catch (const Failure& failure) {
      answer_exception(host(), op, Facts::kId, slot, wrong);
    } catch (const std::exception& other) {
      answer_failure(host(), op, OutcomeClass::kRejected, Code::kInternal, other.what());
    }
  }

  boost::asio::awaitable<void> perform_open(berth_op op, OpenSpec spec) {
    std::exception_ptr wrong;
    try {
      AsyncOperation operation(host(), op);
      provider_ = std::make_unique<P>();
      static_cast<Base&>(*provider_).attach(host(), loop_->context().get_executor());
      co_await provider_->open(operation, spec);
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {
      wrong = std::current_exception();
    }
    if (!wrong) {
      set_phase(Phase::kOpen);
      answer_done(host(), op);
      co_return;
    }
    provider_.reset();
    failed_open_ = op;
    open_failure_ = wrong;
    // The loop ends, too, and cannot be joined on its own thread. [OPEN-002]
    const auto join = [](void* self) { static_cast<AsyncShell*>(self)->close_failed_open(true); };
    if (!host().post(join, this)) close_failed_open(false);
  }

  // After the completion this shell may be entered again, so nothing of it is touched then.
  void close_failed_open(bool joins) {
    if (joins) loop_.reset();
    const Host host_copy = host();
    const std::exception_ptr failure = std::exchange(open_failure_, nullptr);
    const berth_op op = std::exchange(failed_open_, 0);
    set_phase(Phase::kEntered);
    answer_exception(host_copy, op, Facts::kId, "open", failure);
  }

  template <class Call, class Args>
  boost::asio::awaitable<void> perform(berth_op op, const char* slot, Call call, Args args,
                                       std::shared_ptr<Running> running) {
    struct Leave {
      AsyncShell& shell;
      Running& running;
      ~Leave() {
        running.close();
        shell.leave();
      }
    } leave_at_end{*this, *running};
    std::exception_ptr wrong;
    AsyncOperation operation(host(), op);
    try {
      auto awaitable =
          std::apply([&](auto&... each) { return call(*provider_, operation, each...); }, args);
      using Value = typename decltype(awaitable)::value_type;
      if constexpr (std::is_void_v<Value>) {
        co_await std::move(awaitable);
        answer_done(host(), op);
      } else {
        answer(host(), op, co_await std::move(awaitable));
      }
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (const boost::system::system_error& error) {
      const bool aborted =
          error.code() == boost::asio::error::operation_aborted && operation.cancelled();
      wrong = aborted ? std::make_exception_ptr(Operation::cancelled_failure())
                      : std::current_exception();
    } catch (...) {
      wrong = std::current_exception();
    }
    if (wrong) answer_exception(host(), op, Facts::kId, slot, wrong);
  }

  void leave() {
    if (end_operation()) spawn_shutdown();
  }

  void spawn_shutdown() { loop_->spawn(perform_shutdown()); }

  // The author's shutdown runs on the loop; the loop's thread is joined on a lent one.
  boost::asio::awaitable<void> perform_shutdown() {
    try {
      AsyncOperation operation(host(), shutdown_op());
      co_await provider_->shutdown(operation);
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {
      shutdown_failure_ = std::current_exception();
    }
    provider_.reset();
    const auto join = [](void* self) { static_cast<AsyncShell*>(self)->finish(); };
    if (!host().post(join, this))
      answer_failure(host(), shutdown_op(), OutcomeClass::kUncertain, Code::kUnavailable,
                     "the host lends no thread to end the provider's loop on");
  }

  // After the completion this shell may be entered again, so nothing of it is touched then.
  void finish() {
    loop_.reset();
    const Host host_copy = host();
    const berth_op op = shutdown_op();
    const std::exception_ptr failure = std::exchange(shutdown_failure_, nullptr);
    set_phase(Phase::kVacant);
    if (failure) return answer_exception(host_copy, op, Facts::kId, "shutdown", failure);
    answer_done(host_copy, op);
  }

  std::unique_ptr<Loop> loop_;
  std::unique_ptr<P> provider_;
  std::exception_ptr shutdown_failure_;
  std::exception_ptr open_failure_;
  berth_op failed_open_ = 0;
};

}  // namespace detail
}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_DETAIL_ASYNC_SHELL_HPP
