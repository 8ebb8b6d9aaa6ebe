#include "core/base/halt_poll.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <thread>

#include "core/base/run_loop.h"
#include "core/base/task.h"

namespace berth {
namespace {

using std::chrono::milliseconds;

// A wait that ends so long after ready_soon() has given up.
void wait_for(HaltPoll& poll, std::chrono::microseconds time) {
  poll.ready_soon([] { return false; });
  std::this_thread::sleep_for(time);
  poll.slept();
}

TEST(HaltPoll, AsksOnceWhenNothingWasShortYet) {
  HaltPoll poll;
  int asked = 0;
  EXPECT_FALSE(poll.ready_soon([&] { return ++asked > 100; }));
  EXPECT_EQ(asked, 1);
}

TEST(HaltPoll, TakesWhatIsReadyWithoutWaiting) {
  HaltPoll poll;
  EXPECT_TRUE(poll.ready_soon([] { return true; }));
  EXPECT_EQ(poll.moment(), Duration::zero());
}

TEST(HaltPoll, LooksLongerAfterShortWaitsUpToItsBoundAndNeverOnOneProcessor) {
  HaltPoll poll;
  for (int i = 0; i < 20; ++i) {
    poll.ready_soon([] { return false; });
    poll.slept();
    EXPECT_LE(poll.moment(), std::chrono::microseconds(400));
  }
  EXPECT_EQ(poll.moment() > Duration::zero(), std::thread::hardware_concurrency() > 1);
}

TEST(HaltPoll, GivesUpLookingAfterLongWaits) {
  HaltPoll poll;
  for (int i = 0; i < 5; ++i) wait_for(poll, std::chrono::microseconds(1));
  for (int i = 0; i < 40; ++i) wait_for(poll, milliseconds(1));
  EXPECT_LT(poll.moment(), std::chrono::microseconds(1));
}

TEST(RunLoop, RunsUntilTheLastTimerAndHandlerIsDone) {
  boost::asio::io_context loop(1);
  int steps = 0;
  boost::asio::co_spawn(
      loop,
      [](int& count) -> Task<void> {
        boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
        for (int i = 0; i < 3; ++i) {
          timer.expires_after(milliseconds(2));
          co_await timer.async_wait(boost::asio::use_awaitable);
          ++count;
        }
      }(steps),
      boost::asio::detached);
  run_loop(loop);
  EXPECT_EQ(steps, 3);
}

TEST(RunLoop, ReturnsAtOnceWithoutWorkAndWhenItIsStopped) {
  boost::asio::io_context idle(1);
  run_loop(idle);
  boost::asio::io_context loop(1);
  boost::asio::steady_timer never(loop, std::chrono::hours(1));
  never.async_wait([](const boost::system::error_code&) {});
  boost::asio::post(loop, [&] { loop.stop(); });
  run_loop(loop);
  EXPECT_TRUE(loop.stopped());
}

TEST(RunLoop, IsWokenFromAnotherThread) {
  boost::asio::io_context loop(1);
  auto work = boost::asio::make_work_guard(loop);
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    boost::asio::post(loop, [&] { work.reset(); });
  });
  run_loop(loop);
  other.join();
}

}  // namespace
}  // namespace berth
