#include "core/lifecycle/system_clock.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>

namespace berth {

Instant SystemClock::now() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::wall_now() const {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

Task<void> SystemClock::sleep_until(Instant when, Cancellation* cancellation) {
  const auto executor = co_await boost::asio::this_coro::executor;
  // Shared with the subscription, which may be called while the timer's own end is under way.
  const auto timer = std::make_shared<boost::asio::steady_timer>(executor);
  timer->expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(when));
  Cancellation::Subscription subscription;
  if (cancellation != nullptr) {
    if (cancellation->requested()) co_return;
    subscription = cancellation->subscribe([timer] { timer->cancel(); });
  }
  boost::system::error_code ignored;  // cancelled or due: both are the end of the sleep
  co_await timer->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

}  // namespace berth
