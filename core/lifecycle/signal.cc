#include "core/lifecycle/signal.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace berth {

struct Signal::Waiter {
  virtual ~Waiter() = default;
  virtual void wake() = 0;
};

template <class Handler>
struct Signal::WaiterOf final : Waiter {
  explicit WaiterOf(Handler handler) : handler_(std::move(handler)) {}
  void wake() override {
    auto executor = boost::asio::get_associated_executor(handler_);
    boost::asio::post(executor, std::move(handler_));
  }
  Handler handler_;
};

Signal::Signal() = default;
Signal::~Signal() = default;

Task<void> Signal::wait() {
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
      [this](auto handler) {
        waiters_.push_back(std::make_unique<WaiterOf<decltype(handler)>>(std::move(handler)));
      },
      boost::asio::use_awaitable);
}

void Signal::notify() {
  std::vector<std::unique_ptr<Waiter>> woken;
  woken.swap(waiters_);
  for (const auto& waiter : woken) waiter->wake();
}

}  // namespace berth
