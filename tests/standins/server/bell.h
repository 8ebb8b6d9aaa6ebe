// Bell: any number of coroutines wait for it; a ring wakes all of them.
#ifndef BERTH_TESTS_STANDINS_SERVER_BELL_H_
#define BERTH_TESTS_STANDINS_SERVER_BELL_H_

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "core/base/task.h"

namespace berth::standins {

// On one loop. Outlives whoever waits.
class Bell {
 public:
  explicit Bell(const boost::asio::any_io_executor& executor) : timer_(executor) {
    timer_.expires_at(boost::asio::steady_timer::time_point::max());
  }
  // Wait for a state, not for a ring: `while (!there()) co_await bell.wait();`
  Task<void> wait() {
    try {
      co_await timer_.async_wait(boost::asio::use_awaitable);
    } catch (const boost::system::system_error&) {
      // Every ring ends the waits that way.
    }
  }
  void ring() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_BELL_H_
