#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/lifecycle/system_clock.h"

namespace berth {
namespace {

using std::chrono::milliseconds;

// A clock that sleeps as the system's does and leaves alarms to the interface's default.
class PlainClock final : public SystemClock {
 public:
  std::unique_ptr<Alarm> alarm(boost::asio::any_io_executor executor, Instant when,
                               std::function<void()> ring) override {
    return Clock::alarm(std::move(executor), when, std::move(ring));
  }
};

template <class Kind>
class Alarms : public testing::Test {
 protected:
  std::unique_ptr<Alarm> set(int in_ms, std::string name) {
    return set(in_ms, [this, name = std::move(name)] { rung_.push_back(name); });
  }
  std::unique_ptr<Alarm> set(int in_ms, std::function<void()> ring) {
    return clock_.alarm(loop_.get_executor(), clock_.now() + milliseconds(in_ms), std::move(ring));
  }

  boost::asio::io_context loop_{1};
  Kind clock_;
  std::vector<std::string> rung_;
};
using Kinds = testing::Types<SystemClock, PlainClock>;
TYPED_TEST_SUITE(Alarms, Kinds);

TYPED_TEST(Alarms, RingInTheOrderOfTheirTimesWhateverTheOrderOfSetting) {
  const auto third = this->set(30, "third");
  const auto first = this->set(10, "first");
  const auto second = this->set(20, "second");
  this->loop_.run();
  EXPECT_EQ(this->rung_, (std::vector<std::string>{"first", "second", "third"}));
}

TYPED_TEST(Alarms, DoNotRingOnceDestroyedAndLetTheLoopEnd) {
  auto late = this->set(3'600'000, "late");
  auto later = this->set(7'200'000, "later");
  boost::asio::post(this->loop_, [&] {
    late.reset();
    later.reset();
  });
  this->loop_.run();
  EXPECT_TRUE(this->rung_.empty());
}

TYPED_TEST(Alarms, OfAPastTimeRingFromTheLoopAndNotFromTheCallThatSetsThem) {
  const auto past = this->set(-1000, "past");
  EXPECT_TRUE(this->rung_.empty());
  this->loop_.run();
  EXPECT_EQ(this->rung_, std::vector<std::string>{"past"});
}

TYPED_TEST(Alarms, MayDestroyThemselvesAndOthersAndSetMoreWhileTheyRing) {
  std::unique_ptr<Alarm> self;
  std::unique_ptr<Alarm> other = this->set(12, "other");
  std::unique_ptr<Alarm> next;
  self = this->set(10, [&] {
    this->rung_.push_back("self");
    self.reset();
    other.reset();
    next = this->set(1, "next");
  });
  this->loop_.run();
  EXPECT_EQ(this->rung_, (std::vector<std::string>{"self", "next"}));
}

TYPED_TEST(Alarms, SetAfterAllOthersWereDestroyedStillRing) {
  this->set(10, "gone").reset();
  this->loop_.run();
  this->loop_.restart();
  const auto kept = this->set(1, "kept");
  this->loop_.run();
  EXPECT_EQ(this->rung_, std::vector<std::string>{"kept"});
}

TYPED_TEST(Alarms, ThatAreStillSetWhenTheirLoopIsDestroyedAreHarmless) {
  {
    boost::asio::io_context loop(1);
    auto held = std::make_shared<std::unique_ptr<Alarm>>();
    *held = this->clock_.alarm(loop.get_executor(), this->clock_.now() + milliseconds(60'000),
                               [this] { this->rung_.push_back("rung"); });
    boost::asio::post(loop, [held] {});
    held.reset();
  }
  EXPECT_TRUE(this->rung_.empty());
}

}  // namespace
}  // namespace berth
