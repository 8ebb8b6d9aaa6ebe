// What the durable store must guarantee to the lifecycle, over every store there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "core/lifecycle/reconcile.h"
#include "tests/support/harness.h"
#include "tests/support/store_kinds.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;

class Ownership : public ::testing::TestWithParam<StoreKind> {
 protected:
  Ownership() : opened(GetParam().open()), story(opened.get()) {}

  void fault_at(Slot slot, OpFault fault) {
    story.host().provider.fault = [slot, fault](Slot asked, const std::string&) {
      return asked == slot ? fault : OpFault::kNone;
    };
  }
  RetireReport retire() {
    return *story.run(retire_session(story.host().services, Harness::request().key));
  }
  std::vector<Intent> open_of(const std::string& owner) {
    auto found = std::make_shared<std::vector<Intent>>();
    const Status status = story.run(
        story.host().services.store.read([found, owner](Transaction& transaction) -> Status {
          IntentFilter filter;
          filter.owner = owner;
          filter.unresolved_only = true;
          BERTH_TRY(*found, transaction.intents(filter));
          return {};
        }));
    EXPECT_TRUE(status);
    return std::move(*found);
  }

  std::unique_ptr<Store> opened;
  Harness story;
};

TEST_P(Ownership, AnUnresolvedSandboxBlocksRetirementAndRetriesKeepTheRecord) {
  fault_at(Slot::kDestroy, OpFault::kFailedDirty);
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(retire().state, SessionState::kRetiring);
  EXPECT_EQ(story.run(story.call("another")).status, CallEnd::Status::kRefused)
      << "a retiring session takes no new call";
  story.host().provider.fault = nullptr;
  EXPECT_EQ(retire().state, SessionState::kRetired);
  EXPECT_EQ(retire().state, SessionState::kRetired);
  const CallEnd again = story.run(story.call());
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.intent_name, end.intent_name);
  TestHost& elsewhere = story.start_host("account-b");
  const CallEnd other_scope =
      story.run(elsewhere, with_sandbox(elsewhere.services, Harness::request(), Harness::body()));
  EXPECT_TRUE(other_scope.replayed) << "one intent per call, whatever the scope";
  EXPECT_EQ(story.cloud.creates_asked.size(), 1U);
}

TEST_P(Ownership, ForeignOwnersCannotActAndCompletedCallsCannotAllocateAgain) {
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(end.status, CallEnd::Status::kCompleted) << end.message;
  EXPECT_TRUE(story.run(story.call()).replayed);
  SandboxRequest foreign = Harness::request();
  foreign.key.owner = "mallory";
  const CallEnd other =
      story.run(with_sandbox(story.host().services, foreign, Harness::body("other")));
  EXPECT_FALSE(other.replayed);
  EXPECT_NE(other.intent_name, end.intent_name);
  EXPECT_EQ(story.cloud.creates_asked[end.intent_name], 1);
  EXPECT_TRUE(open_of("alice").empty());
  EXPECT_EQ(story.receipt(end.intent_name)->owner, "alice");
  EXPECT_EQ(story.receipt(end.intent_name)->cost, Money::micros(50'000));
}

TEST_P(Ownership, ConcurrentCallsAndRetirementLeaveNothingUntracked) {
  std::vector<std::shared_ptr<std::optional<CallEnd>>> ends;
  for (int i = 0; i < 4; ++i)
    ends.push_back(story.host().start(story.call("call-" + std::to_string(i))));
  const auto retired =
      story.host().start(retire_session(story.host().services, Harness::request().key));
  for (int i = 4; i < 8; ++i)
    ends.push_back(story.host().start(story.call("call-" + std::to_string(i))));
  ASSERT_TRUE(story.step_until([&] {
    for (const auto& end : ends) {
      if (!end->has_value()) return false;
    }
    return retired->has_value();
  }));
  // Either the row was there and the retirement saw it, or the call was refused.
  for (const auto& end : ends) {
    const bool admitted = (*end)->status == CallEnd::Status::kCompleted;
    EXPECT_TRUE(admitted || (*end)->status == CallEnd::Status::kRefused) << (*end)->message;
    if (!admitted) {
      EXPECT_THAT((*end)->message, HasSubstr("retir"));
    }
  }
  EXPECT_EQ(retire().state, SessionState::kRetired);
  EXPECT_TRUE(open_of("alice").empty());
  EXPECT_EQ(story.run(story.call("late")).status, CallEnd::Status::kRefused);
}

TEST_P(Ownership, ARetiringSessionListsExactlyItsOwnOpenSandboxes) {
  fault_at(Slot::kDestroy, OpFault::kFailedDirty);
  const CallEnd own = story.run(story.call());
  SandboxRequest elsewhere = Harness::request();
  elsewhere.key.session = "session-b";
  (void)story.run(with_sandbox(story.host().services, elsewhere, Harness::body()));
  const auto too_early = story.run(finish_retire(story.host().services, Harness::request().key));
  ASSERT_FALSE(too_early) << "an open session cannot be finished";
  const RetireReport report = retire();
  ASSERT_EQ(report.unresolved.size(), 1U);
  EXPECT_EQ(report.unresolved[0].name, own.intent_name);
  EXPECT_EQ(report.unresolved[0].state, IntentState::kCleaning);
}

TEST_P(Ownership, AnotherScopeIsRefusedWhileIntentsAreOpenAndSaysWhatChanged) {
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  const CallEnd open = story.run(story.call());
  TestHost& other = story.start_host("account-b");
  const CallEnd refused =
      story.run(other, with_sandbox(other.services, Harness::request("other"), Harness::body()));
  EXPECT_EQ(refused.status, CallEnd::Status::kRefused);
  EXPECT_THAT(refused.message, HasSubstr("account was 'account-a' and is now 'account-b'"));
  EXPECT_THAT(refused.message, HasSubstr(open.intent_name));
}

TEST_P(Ownership, AnApplicationSelectsAnotherProviderOnlyOnceNothingIsOpenWithTheFirst) {
  const auto call = [this](const char* application, const char* id) {
    SandboxRequest request = Harness::request(id);
    request.application = application;
    return story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  };
  fault_at(Slot::kDestroy, OpFault::kFailedDirty);
  const CallEnd open = call("/srv/shop", "one");
  EXPECT_EQ(story.intent(open.intent_name)->state, IntentState::kCleaning) << open.message;
  story.start_host().provider.mutable_identity().id = "another";
  const std::size_t asked = story.cloud.creates_asked.size();
  const CallEnd refused = call("/srv/shop", "two");
  EXPECT_EQ(refused.status, CallEnd::Status::kRefused);
  EXPECT_THAT(refused.message, HasSubstr("/srv/shop"));
  EXPECT_THAT(refused.message, HasSubstr("'model'"));
  EXPECT_THAT(refused.message, HasSubstr("'another'"));
  EXPECT_THAT(refused.message, HasSubstr(open.intent_name));
  EXPECT_THAT(refused.message, HasSubstr("berth drain --provider model"));
  EXPECT_EQ(story.cloud.creates_asked.size(), asked);
  EXPECT_FALSE(refused.receipt);
  // Another application, and one that selects nothing, are not held up by it.
  EXPECT_EQ(call("/srv/blog", "three").status, CallEnd::Status::kCompleted);
  EXPECT_EQ(call("", "four").status, CallEnd::Status::kCompleted);
  // What was asked before is answered as it was, whoever is selected now.
  EXPECT_TRUE(call("/srv/shop", "one").intent_name == open.intent_name);

  TestHost& first = story.start_host();
  ASSERT_TRUE(story.run(first, reconcile(first.services, {})));
  EXPECT_EQ(story.intent(open.intent_name)->state, IntentState::kReleased);
  story.start_host().provider.mutable_identity().id = "another";
  EXPECT_EQ(call("/srv/shop", "two").status, CallEnd::Status::kCompleted);
}

TEST_P(Ownership, ARefusedCallSelectsNothing) {
  SandboxRequest request = Harness::request("one");
  request.application = "/srv/shop";
  EXPECT_EQ(retire().state, SessionState::kRetired);
  EXPECT_EQ(story.run(with_sandbox(story.host().services, request, Harness::body())).status,
            CallEnd::Status::kRefused);
  auto found = std::make_shared<std::optional<std::string>>("unread");
  const UnitOfWork look = [found](Transaction& transaction) -> Status {
    BERTH_TRY(*found, transaction.selection("/srv/shop"));
    return {};
  };
  EXPECT_TRUE(story.run(story.host().services.store.read(look)));
  EXPECT_FALSE(found->has_value());
}

TEST_P(Ownership, WhatWasWrittenIsReadBackAsItWas) {
  SandboxRequest request = Harness::request();
  request.turn = "turn-7";
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body("döcument")));
  const Intent intent = *story.intent(end.intent_name);
  EXPECT_EQ(intent.key, Harness::request().key);
  EXPECT_EQ(intent.turn, "turn-7");
  EXPECT_EQ(intent.scope, model_scope("account-a"));
  EXPECT_EQ(intent.result, "döcument");
  EXPECT_EQ(intent.state, IntentState::kReleased);
  EXPECT_TRUE(intent.dispatched);
  const Receipt receipt = *story.receipt(end.intent_name);
  EXPECT_EQ(receipt.turn, "turn-7");
  EXPECT_EQ(receipt.exit_code, 0);
  EXPECT_EQ(receipt.cause, "exited");
  EXPECT_FALSE(receipt.timings_us.empty());
}

INSTANTIATE_TEST_SUITE_P(EveryStore, Ownership, ::testing::ValuesIn(store_kinds()),
                         [](const ::testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

}  // namespace
}  // namespace berth::testing
