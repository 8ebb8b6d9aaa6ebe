#include "core/base/halt_poll.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
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

// Has nothing until it was looked at some times, or asked for a wake-up many times.
class Slow final : public LookedAt {
 public:
  explicit Slow(boost::asio::io_context& loop)
      : loop_(loop), looks_(boost::asio::use_service<LoopLooks>(loop)), work_(loop.get_executor()) {
    looks_.add(*this);
  }
  ~Slow() { looks_.remove(*this); }
  Slow(const Slow&) = delete;
  Slow& operator=(const Slow&) = delete;

  bool look() override {
    EXPECT_TRUE(looks_.on());
    if (++looked < kLooks) return false;
    work_.reset();
    return true;
  }
  void watch() override {
    if (++watched == kWatches) work_.reset();
    if (work_.owns_work()) boost::asio::post(loop_, [] {});
  }

  static constexpr int kLooks = 10;
  static constexpr int kWatches = 1000;
  int looked = 0;
  int watched = 0;

 private:
  boost::asio::io_context& loop_;
  LoopLooks& looks_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
};

TEST(RunLoop, LooksWhileItsWaitsAreShortAndHasItselfWokenBeforeItSleeps) {
  boost::asio::io_context loop(1);
  Slow slow(loop);
  run_loop(loop);
  EXPECT_GE(slow.watched, 1);
  EXPECT_EQ(slow.looked == Slow::kLooks, std::thread::hardware_concurrency() > 1);
  EXPECT_FALSE(boost::asio::use_service<LoopLooks>(loop).on());
}

}  // namespace
}  // namespace berth
