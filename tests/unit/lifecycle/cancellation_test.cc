#include "core/lifecycle/cancellation.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

TEST(Cancellation, CallsSubscribersOnceForEachRiseInOrder) {
  Cancellation cancellation;
  std::string calls;
  const auto first = cancellation.subscribe([&] { calls += "a"; });
  const auto second = cancellation.subscribe([&] { calls += "b"; });
  cancellation.request(Cancellation::Reason::kCaller);
  cancellation.request(Cancellation::Reason::kDeadline);
  EXPECT_EQ(calls, "ab");
  EXPECT_EQ(cancellation.reason(), Cancellation::Reason::kCaller);
  cancellation.abandon();
  cancellation.abandon();
  EXPECT_EQ(calls, "abab");
  EXPECT_EQ(cancellation.level(), Cancellation::Level::kAbandoned);
}

TEST(Cancellation, ASubscriptionThatComesLateIsCalledAtOnce) {
  Cancellation cancellation;
  cancellation.request(Cancellation::Reason::kShutdown);
  int calls = 0;
  const auto subscription = cancellation.subscribe([&] { calls += 1; });
  EXPECT_EQ(calls, 1);
}

TEST(Cancellation, AnEndedSubscriptionIsNotCalled) {
  Cancellation cancellation;
  int calls = 0;
  {
    const auto subscription = cancellation.subscribe([&] { calls += 1; });
  }
  cancellation.request(Cancellation::Reason::kCaller);
  EXPECT_EQ(calls, 0);
}

TEST(Cancellation, ASubscriberMayEndItselfAndOthersWhileItRuns) {
  Cancellation cancellation;
  int calls = 0;
  Cancellation::Subscription own;
  Cancellation::Subscription other;
  own = cancellation.subscribe([&] {
    calls += 1;
    own.reset();
    other.reset();
  });
  other = cancellation.subscribe([&] { calls += 100; });
  cancellation.request(Cancellation::Reason::kCaller);
  cancellation.abandon();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace berth
