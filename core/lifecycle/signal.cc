#include "core/lifecycle/signal.h"

#include <algorithm>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace berth {

// A node of its loop's list.
struct Signal::Waiter {
  virtual ~Waiter() = default;
  virtual void wake() = 0;

  void unlink() {
    previous->next = next;
    next->previous = previous;
  }

  Signal* signal = nullptr;
  Waiter* previous = nullptr;
  Waiter* next = nullptr;
};

template <class Handler>
struct Signal::WaiterOf final : Waiter {
  explicit WaiterOf(Handler made) : handler(std::move(made)) {}
  void wake() override {
    auto executor = boost::asio::get_associated_executor(handler);
    boost::asio::post(executor, std::move(handler));
  }
  Handler handler;
};

// Everyone who waits on one loop.
class Signal::Loop : public boost::asio::execution_context::service {
 public:
  using key_type = Loop;
  static boost::asio::execution_context::id id;

  explicit Loop(boost::asio::execution_context& context) : service(context) {
    head_.previous = &head_;
    head_.next = &head_;
  }

  void add(Waiter* waiter) {
    waiter->previous = head_.previous;
    waiter->next = &head_;
    head_.previous->next = waiter;
    head_.previous = waiter;
  }

 private:
  struct Head final : Waiter {
    void wake() override {}
  };

  void shutdown() override {
    while (head_.next != &head_) {
      Waiter* const waiter = head_.next;
      waiter->unlink();
      std::erase(waiter->signal->waiters_, waiter);
      delete waiter;
    }
  }

  Head head_;
};

boost::asio::execution_context::id Signal::Loop::id;

Signal::Signal() = default;

Signal::~Signal() {
  for (Waiter* const waiter : std::exchange(waiters_, {})) {
    waiter->unlink();
    delete waiter;
  }
}

Task<void> Signal::wait() {
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
      [this](auto handler) {
        auto executor = boost::asio::get_associated_executor(handler);
        boost::asio::execution_context& context =
            boost::asio::query(executor, boost::asio::execution::context);
        auto* const waiter = new WaiterOf<decltype(handler)>(std::move(handler));
        waiter->signal = this;
        boost::asio::use_service<Loop>(context).add(waiter);
        waiters_.push_back(waiter);
      },
      boost::asio::use_awaitable);
}

void Signal::notify() {
  for (Waiter* const waiter : std::exchange(waiters_, {})) {
    waiter->unlink();
    waiter->wake();
    delete waiter;
  }
}

}  // namespace berth
