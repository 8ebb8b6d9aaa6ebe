#include "core/lifecycle/with_sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/harness.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Status = CallEnd::Status;

// What happens in a story, in order: commits by their last event, operations by their effect.
class WithSandbox : public ::testing::Test {
 protected:
  WithSandbox() { watch(story.host()); }

  void watch(TestHost& host) {
    host.memory_store.on_committed = [this](const std::string& event) {
      if (!event.empty()) events.push_back("commit " + event);
    };
    host.provider.on_effect = [this](Slot slot, const std::string&) {
      if (slot != Slot::kScope) events.push_back(std::string(to_string(slot)));
    };
  }

  bool happened(const std::string& event) const {
    return std::find(events.begin(), events.end(), event) != events.end();
  }
  void fault_at(Slot slot, OpFault fault) {
    story.host().provider.fault = [slot, fault](Slot asked, const std::string&) {
      return asked == slot ? fault : OpFault::kNone;
    };
  }

  Harness story;
  std::vector<std::string> events;
};

TEST_F(WithSandbox, ExecutesOnlyAfterConfirmationAndCleansBeforeRelease) {
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(end.status, Status::kCompleted) << end.message;
  EXPECT_EQ(end.document, "42");
  EXPECT_THAT(events, ElementsAre("commit dispatch", "create", "commit create_done", "run",
                                  "destroy", "commit delete_confirmed"));
  EXPECT_FALSE(story.cloud.alive(end.intent_name));
}

TEST_F(WithSandbox, AGoodRunIsThreeCommitsAndSixLinesOfJournal) {
  const CallEnd end = story.run(story.call());
  std::vector<std::string> lines;
  for (const JournalEntry& entry : story.rows.journal)
    lines.push_back(entry.event + " " + std::string(to_string(entry.to)));
  EXPECT_THAT(lines, ElementsAre("reserve INTENDED", "dispatch DISPATCHED", "create_done CREATED",
                                 "run RUNNING", "finish CLEANING", "delete_confirmed RELEASED"));
  EXPECT_EQ(story.intent(end.intent_name)->revision, 3U);
}

TEST_F(WithSandbox, AnAmbiguousCreateStaysReservedAndNeitherRunsNorReleases) {
  for (const OpFault fault : {OpFault::kLostDone, OpFault::kLostNotDone, OpFault::kUnset,
                              OpFault::kHang, OpFault::kWrongScope, OpFault::kWrongName}) {
    Harness fresh;
    fresh.host().provider.fault = [fault](Slot slot, const std::string&) {
      return slot == Slot::kCreate ? fault : OpFault::kNone;
    };
    const CallEnd end = fresh.run(fresh.call());
    EXPECT_EQ(end.status, Status::kUncertain) << to_string(fault) << end.message;
    EXPECT_THAT(end.message, HasSubstr("berth reconcile --name " + end.intent_name));
    ASSERT_TRUE(end.receipt);
    EXPECT_FALSE(end.receipt->cost) << "unknown is not zero";
    const Intent intent = *fresh.intent(end.intent_name);
    EXPECT_EQ(intent.state, IntentState::kUncertain);
    EXPECT_EQ(intent.holder, Holder{}) << "anyone may reconcile it";
    for (const std::string& effect : fresh.cloud.log) EXPECT_THAT(effect, HasSubstr("create"));
  }
}

TEST_F(WithSandbox, ACreateBeyondItsOwnDeadlineIsUncertainThoughTheCallHasTimeLeft) {
  fault_at(Slot::kCreate, OpFault::kHang);
  const Instant began = story.world.now;
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(end.status, Status::kUncertain);
  EXPECT_EQ(story.world.now - began, std::chrono::seconds(60));
}

TEST_F(WithSandbox, ARejectedCreateIsSettledAndTheSameCallGetsTheRecordedRefusal) {
  for (const OpFault fault : {OpFault::kRejected, OpFault::kFailedClean}) {
    Harness fresh;
    fresh.host().provider.fault = [fault](Slot slot, const std::string&) {
      return slot == Slot::kCreate ? fault : OpFault::kNone;
    };
    const CallEnd end = fresh.run(fresh.call());
    EXPECT_EQ(end.status, Status::kRefused);
    ASSERT_TRUE(end.receipt);
    EXPECT_EQ(end.receipt->cost, Money{});
    EXPECT_EQ(fresh.intent(end.intent_name)->state, IntentState::kReleased);

    fresh.host().provider.fault = nullptr;
    const CallEnd again = fresh.run(fresh.call());
    EXPECT_EQ(again.status, Status::kRefused);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.message, end.message);
    EXPECT_EQ(fresh.cloud.creates_asked[end.intent_name], 1);
  }
}

TEST_F(WithSandbox, ACreateThatLeavesSomethingBehindIsCleanedAndNeverRun) {
  fault_at(Slot::kCreate, OpFault::kFailedDirty);
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(end.status, Status::kInfrastructureError);
  EXPECT_THAT(events, ElementsAre("commit dispatch", "create", "commit create_failed_dirty",
                                  "destroy", "commit delete_confirmed"));
  EXPECT_FALSE(story.cloud.alive(end.intent_name));
}

TEST_F(WithSandbox, AnAlreadyCancelledCallReservesNothing) {
  Cancellation cancellation;
  cancellation.request(Cancellation::Reason::kCaller);
  SandboxRequest request = Harness::request();
  request.cancellation = &cancellation;
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  EXPECT_EQ(end.status, Status::kCancelled);
  EXPECT_FALSE(end.receipt);
  EXPECT_THAT(story.rows.intents, IsEmpty());
}

TEST_F(WithSandbox, CancellationDuringCreateDeletesTheEventualSandboxWithoutExecuting) {
  Cancellation cancellation;
  SandboxRequest request = Harness::request();
  request.cancellation = &cancellation;
  story.host().provider.on_effect = [&](Slot slot, const std::string&) {
    if (slot == Slot::kCreate) cancellation.request(Cancellation::Reason::kCaller);
    if (slot != Slot::kScope) events.push_back(std::string(to_string(slot)));
  };
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  EXPECT_EQ(end.status, Status::kCancelled);
  EXPECT_THAT(events, ElementsAre("commit dispatch", "create", "commit create_done", "destroy",
                                  "commit delete_confirmed"));
  EXPECT_EQ(end.receipt->settlement, Settlement::kCancelled);
  EXPECT_EQ(end.receipt->cost, Money{});
}

TEST_F(WithSandbox, CancellationDuringACommandDeletesOnceAndNeverReturnsItsResult) {
  Cancellation cancellation;
  SandboxRequest request = Harness::request();
  request.cancellation = &cancellation;
  story.host().provider.on_effect = [&](Slot slot, const std::string&) {
    if (slot == Slot::kRun) cancellation.request(Cancellation::Reason::kCaller);
    if (slot != Slot::kScope) events.push_back(std::string(to_string(slot)));
  };
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  EXPECT_EQ(end.status, Status::kCancelled);
  EXPECT_FALSE(end.document);
  EXPECT_EQ(std::count(events.begin(), events.end(), "destroy"), 1);
  EXPECT_FALSE(story.intent(end.intent_name)->result);
}

TEST_F(WithSandbox, CancellationSettlesThoughTheCommandNeverAnswersOnceDeletionIsConfirmed) {
  Cancellation cancellation;
  SandboxRequest request = Harness::request();
  request.cancellation = &cancellation;
  fault_at(Slot::kRun, OpFault::kHang);
  const auto end =
      story.host().start(with_sandbox(story.host().services, std::move(request), Harness::body()));
  ASSERT_TRUE(story.step_until([&] { return happened("run"); }));
  cancellation.request(Cancellation::Reason::kCaller);
  ASSERT_TRUE(story.step_until([&] { return happened("destroy"); }));
  EXPECT_FALSE(end->has_value()) << "the delete has only just taken effect";
  const Instant before = story.world.now;
  ASSERT_TRUE(story.step_until([&] { return end->has_value(); }));
  EXPECT_EQ((*end)->status, Status::kCancelled);
  EXPECT_EQ(story.world.now, before) << "nothing waits for the command";
  EXPECT_EQ(story.rows.intents.begin()->second.state, IntentState::kReleased);
}

TEST_F(WithSandbox, TheDeadlineCancelsTheSandboxAndIsAnInfrastructureFailureThatCostsNothing) {
  fault_at(Slot::kRun, OpFault::kHang);
  SandboxRequest request = Harness::request();
  request.deadline = std::chrono::seconds(7);
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  EXPECT_EQ(end.status, Status::kInfrastructureError);
  EXPECT_EQ(end.error->kind(), ErrorKind::kTimeout);
  EXPECT_EQ(end.receipt->settlement, Settlement::kInfrastructureFailure);
  EXPECT_EQ(end.receipt->cost, Money{});
  EXPECT_FALSE(story.cloud.alive(end.intent_name));
}

TEST_F(WithSandbox, AnOperationThatTheDeadlineEndedIsNotTakenForAnotherFailure) {
  SandboxRequest request = Harness::request();
  request.deadline = std::chrono::seconds(7);
  fault_at(Slot::kRun, OpFault::kLostNotDone);
  // The answer comes before the alarm.
  story.host().provider.on_effect = [&](Slot slot, const std::string&) {
    if (slot == Slot::kRun) story.world.now += std::chrono::seconds(8);
  };
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  EXPECT_EQ(end.error->kind(), ErrorKind::kTimeout) << end.message;
  EXPECT_THAT(end.message, HasSubstr("the deadline of 7.0 s passed"));
  EXPECT_EQ(end.receipt->cost, Money{});
  EXPECT_FALSE(story.cloud.alive(end.intent_name));
}

TEST_F(WithSandbox, FailedDeletionRetainsTheIntentAndHidesAGoodResult) {
  fault_at(Slot::kDestroy, OpFault::kFailedDirty);
  const Instant began = story.world.now;
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(end.status, Status::kInfrastructureError);
  EXPECT_EQ(end.error->kind(), ErrorKind::kUnavailable) << "no deadline of the call has passed";
  EXPECT_FALSE(end.document);
  EXPECT_THAT(end.message, HasSubstr("berth reconcile --name " + end.intent_name));
  EXPECT_LE(story.world.now - began, std::chrono::seconds(30));
  const Intent intent = *story.intent(end.intent_name);
  EXPECT_EQ(intent.state, IntentState::kCleaning);
  EXPECT_FALSE(intent.result);
  EXPECT_EQ(end.receipt->cost, Money{});
}

TEST_F(WithSandbox, AFailedConfirmationStillDeletesTheKnownSandbox) {
  for (const CommitFault fault :
       {CommitFault::kFailed, CommitFault::kUnknownLost, CommitFault::kUnknownKept}) {
    Harness fresh;
    fresh.host().memory_store.commit_fault = [fault](const std::string& event) {
      return event == "create_done" ? fault : CommitFault::kNone;
    };
    const CallEnd end = fresh.run(fresh.call());
    EXPECT_EQ(end.status, Status::kInfrastructureError);
    EXPECT_THAT(end.message, HasSubstr("confirmation"));
    EXPECT_THAT(fresh.cloud.log,
                ElementsAre("create " + end.intent_name, "delete " + end.intent_name));
    EXPECT_EQ(fresh.intent(end.intent_name)->state, IntentState::kReleased);
    EXPECT_EQ(end.receipt->cost, Money{});
  }
}

TEST_F(WithSandbox, AFailedReservationAsksNothingOfTheProvider) {
  for (const CommitFault fault :
       {CommitFault::kFailed, CommitFault::kUnknownLost, CommitFault::kUnknownKept}) {
    Harness fresh;
    fresh.host().memory_store.commit_fault = [fault](const std::string& event) {
      return event == "dispatch" ? fault : CommitFault::kNone;
    };
    const CallEnd end = fresh.run(fresh.call());
    EXPECT_EQ(end.status, Status::kInfrastructureError) << end.message;
    EXPECT_THAT(fresh.cloud.creates_asked, IsEmpty());
    for (const auto& [name, intent] : fresh.rows.intents) {
      EXPECT_EQ(intent.state, IntentState::kReleased);
      EXPECT_EQ(fresh.rows.receipts.at(name).cost, Money{});
    }
  }
}

TEST_F(WithSandbox, ALostOperationTaintsTheSandboxAndIsNeverRepeated) {
  fault_at(Slot::kRun, OpFault::kLostDone);
  const CallEnd end = story.run(with_sandbox(
      story.host().services, Harness::request(), [](Sandbox& sandbox) -> Task<BodyResult> {
        NoOutput output;
        Command first;
        const Answer<RunEnd> lost = co_await sandbox.run(std::move(first), output);
        EXPECT_FALSE(lost.outcome.done());
        Command second;
        const Answer<RunEnd> refused = co_await sandbox.run(std::move(second), output);
        EXPECT_EQ(refused.outcome.outcome_class, OutcomeClass::kRejected);
        BodyResult result;
        result.message = "lost";
        co_return result;
      }));
  EXPECT_EQ(end.status, Status::kInfrastructureError);
  EXPECT_EQ(std::count(events.begin(), events.end(), "run"), 1);
  EXPECT_EQ(end.receipt->cost, Money{});
}

TEST_F(WithSandbox, TheSameCallIsAnsweredFromTheRecordFreeOfCharge) {
  const CallEnd first = story.run(story.call());
  const CallEnd second = story.run(story.call());
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.status, Status::kCompleted);
  EXPECT_EQ(second.document, "42");
  EXPECT_EQ(story.rows.receipts.size(), 1U);
  EXPECT_EQ(story.cloud.creates_asked[first.intent_name], 1);
}

TEST_F(WithSandbox, TheSameCallWithAnotherRequestIsAConflict) {
  (void)story.run(story.call());
  SandboxRequest other = Harness::request();
  other.spec_canonical = "{\"code\":\"print(43)\"}";
  const CallEnd end = story.run(with_sandbox(story.host().services, other, Harness::body()));
  EXPECT_EQ(end.status, Status::kRefused);
  EXPECT_EQ(end.error->kind(), ErrorKind::kConflict);
}

TEST_F(WithSandbox, AnUnresolvedCallIsRefusedByASentenceThatSaysWhatResolvesIt) {
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  const CallEnd first = story.run(story.call());
  story.world.advance(std::chrono::minutes(3) + std::chrono::seconds(2));
  const CallEnd second = story.run(story.call());
  EXPECT_EQ(second.status, Status::kRefused);
  EXPECT_THAT(second.message,
              HasSubstr("create on provider 'model' at stage 'create', UNCERTAIN for 3 min 2 s"));
  EXPECT_THAT(second.message, HasSubstr("`berth reconcile --name " + first.intent_name + "`"));
  EXPECT_EQ(story.cloud.creates_asked[first.intent_name], 1);
}

TEST_F(WithSandbox, EightConcurrentDeliveriesMakeOneSandboxAndOneReceipt) {
  std::vector<std::shared_ptr<std::optional<CallEnd>>> ends;
  for (int i = 0; i < 8; ++i) ends.push_back(story.host().start(story.call()));
  ASSERT_TRUE(story.step_until([&] {
    return std::all_of(ends.begin(), ends.end(), [](const auto& end) { return end->has_value(); });
  }));
  int fresh = 0;
  for (const auto& end : ends) {
    EXPECT_EQ((*end)->status, Status::kCompleted);
    EXPECT_EQ((*end)->document, "42");
    if (!(*end)->replayed) fresh += 1;
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(story.rows.receipts.size(), 1U);
  EXPECT_EQ(story.cloud.log.size(), 2U);
}

TEST_F(WithSandbox, ADeliveryOnAnotherHostIsRefusedWhileTheFirstRuns) {
  fault_at(Slot::kRun, OpFault::kHang);
  const auto first = story.host().start(story.call());
  ASSERT_TRUE(story.step_until([&] { return happened("run"); }));
  TestHost& other = story.start_host();
  const CallEnd end =
      story.run(other, with_sandbox(other.services, Harness::request(), Harness::body()));
  EXPECT_EQ(end.status, Status::kRefused);
  EXPECT_THAT(end.message, HasSubstr("is under way: host host-0 has worked on it since "));
  EXPECT_THAT(end.message, HasSubstr("wait for that to end"));
  EXPECT_FALSE(first->has_value());
}

TEST_F(WithSandbox, PreparationIsAwaitedBetweenReservationAndDispatch) {
  SandboxRequest request = Harness::request();
  request.prepare = [this]() -> Task<berth::Status> {
    events.push_back("prepare");
    co_return berth::Status{};
  };
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  EXPECT_EQ(end.status, Status::kCompleted);
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(events[0], "commit reserve");
  EXPECT_EQ(events[1], "prepare");
  EXPECT_EQ(events[2], "commit dispatch");
  EXPECT_EQ(events[3], "create");
}

TEST_F(WithSandbox, FailedPreparationReleasesWhatProvablyCreatedNothing) {
  SandboxRequest request = Harness::request();
  request.prepare = []() -> Task<berth::Status> {
    co_return fail(ErrorKind::kUnavailable, "no worker is free");
  };
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), Harness::body()));
  EXPECT_EQ(end.status, Status::kRefused);
  EXPECT_THAT(end.message, HasSubstr("no worker is free"));
  EXPECT_FALSE(story.intent(end.intent_name)->dispatched);
  EXPECT_THAT(story.cloud.creates_asked, IsEmpty());
}

TEST_F(WithSandbox, ABodyThatThrowsIsAnInfrastructureFailureAndCleansUp) {
  const CallEnd end = story.run(
      with_sandbox(story.host().services, Harness::request(), [](Sandbox&) -> Task<BodyResult> {
        throw std::runtime_error("out of luck");
        co_return BodyResult{};
      }));
  EXPECT_EQ(end.status, Status::kInfrastructureError);
  EXPECT_THAT(end.message, HasSubstr("out of luck"));
  EXPECT_FALSE(story.cloud.alive(end.intent_name));
}

// Accounting of one execution.

TEST_F(WithSandbox, ACompletedCallHasExactlyOneReceiptAtThePrice) {
  const CallEnd end = story.run(story.call());
  ASSERT_TRUE(end.receipt);
  EXPECT_EQ(end.receipt->settlement, Settlement::kCompleted);
  EXPECT_EQ(end.receipt->cost, Money::micros(50'000));
  EXPECT_EQ(end.receipt->exit_code, 0);
  EXPECT_EQ(story.rows.receipts.size(), 1U);
}

TEST_F(WithSandbox, FailedCleanupOrInvalidOutputIsNotCharged) {
  const CallEnd invalid = story.run(with_sandbox(story.host().services, Harness::request("invalid"),
                                                 [](Sandbox&) -> Task<BodyResult> {
                                                   BodyResult result;
                                                   result.message = "the output is not valid";
                                                   co_return result;
                                                 }));
  EXPECT_EQ(invalid.receipt->cost, Money{});
  fault_at(Slot::kDestroy, OpFault::kLostNotDone);
  const CallEnd uncleaned = story.run(story.call("uncleaned"));
  EXPECT_EQ(uncleaned.receipt->cost, Money{});
}

TEST_F(WithSandbox, CreditsAreDebitedWithTheReleaseAndRefuseWhenUsedUp) {
  Credits credits(CreditsConfig{Money::cents(5)});
  story.host().services.billing = &credits;
  EXPECT_EQ(story.run(story.call("first")).status, Status::kCompleted);
  const CallEnd second = story.run(story.call("second"));
  EXPECT_EQ(second.status, Status::kRefused);
  EXPECT_THAT(second.message, HasSubstr("credit"));
  EXPECT_EQ(story.rows.intents.size(), 1U);
  ASSERT_EQ(story.rows.postings.size(), 2U);
  EXPECT_EQ(story.rows.postings[1].amount, Money::cents(5));
}

TEST_F(WithSandbox, AnUnknownCostBlocksTheOwnersPaidWork) {
  Credits credits;
  story.host().services.billing = &credits;
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  (void)story.run(story.call("lost"));
  const CallEnd next = story.run(story.call("next"));
  EXPECT_EQ(next.status, Status::kRefused);
  EXPECT_THAT(next.message, HasSubstr("unknown cost"));
}

TEST_F(WithSandbox, ABlankOwnerSessionOrCallIsRefused) {
  for (int part = 0; part < 3; ++part) {
    SandboxRequest request = Harness::request();
    (part == 0 ? request.key.owner : part == 1 ? request.key.session : request.key.call) = " \t";
    const CallEnd end = story.run(with_sandbox(story.host().services, request, Harness::body()));
    EXPECT_EQ(end.status, Status::kRefused);
    EXPECT_THAT(end.message, HasSubstr("blank"));
  }
  EXPECT_THAT(story.rows.intents, IsEmpty());
}

}  // namespace
}  // namespace berth::testing
