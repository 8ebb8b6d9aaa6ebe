#include "core/lifecycle/reconcile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/harness.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Settled = ReconciledIntent::Result;

class ReconcileStory : public ::testing::Test {
 protected:
  // Runs a call on the first host and lets that host die when `slot` has taken effect.
  std::string die_at(Slot slot) {
    bool reached = false;
    story.host(0).provider.on_effect = [&](Slot asked, const std::string&) {
      reached = reached || asked == slot;
    };
    (void)story.host(0).start(story.call());
    EXPECT_TRUE(story.step_until([&] { return reached; }));
    story.start_host();
    story.crash(0);
    return story.rows.order.back();
  }
  ReconcileReport reconcile_all(ReconcileOptions options = {}) {
    return *story.run(reconcile(story.host().services, std::move(options)));
  }
  void fault_at(Slot slot, OpFault fault) {
    story.host().provider.fault = [slot, fault](Slot asked, const std::string&) {
      return asked == slot ? fault : OpFault::kNone;
    };
  }
  IntentState state(const std::string& name) { return story.rows.intents.at(name).state; }

  Harness story;
};

using Reconcile = ReconcileStory;
using Retire = ReconcileStory;

TEST_F(Reconcile, WhatADeadHostHadConfirmedIsDeletedAndReleasedWithoutCharge) {
  const std::string name = die_at(Slot::kRun);
  ASSERT_TRUE(story.cloud.alive(name));
  const ReconcileReport report = reconcile_all();
  ASSERT_EQ(report.intents.size(), 1U);
  EXPECT_EQ(report.intents[0].result, Settled::kReleased);
  EXPECT_FALSE(story.cloud.alive(name));
  EXPECT_EQ(story.rows.receipts.at(name).settlement, Settlement::kHostDied);
  EXPECT_EQ(story.rows.receipts.at(name).cost, Money{});
  EXPECT_THAT(reconcile_all().intents, IsEmpty()) << "a second pass finds nothing";
}

TEST_F(Reconcile, ACreateInFlightWhenItsHostDiedIsFoundAdoptedAndDeleted) {
  const std::string name = die_at(Slot::kCreate);
  ASSERT_TRUE(story.cloud.alive(name));
  EXPECT_EQ(reconcile_all().intents[0].result, Settled::kReleased);
  EXPECT_FALSE(story.cloud.alive(name));
}

TEST_F(Reconcile, ACreateThatNeverArrivedIsFencedAndReleased) {
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(reconcile_all().intents[0].result, Settled::kReleased);
  EXPECT_TRUE(story.cloud.fenced.contains(end.intent_name));
  EXPECT_EQ(story.rows.receipts.at(end.intent_name).cost, Money{});
}

TEST_F(Reconcile, UncertainCreateBlocksASecondCreateOfTheSameCall) {
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  story.host().provider.mutable_identity().recovery = Recovery::kManual;
  const CallEnd end = story.run(story.call());
  (void)reconcile_all();
  EXPECT_EQ(story.run(story.call()).status, CallEnd::Status::kRefused);
  EXPECT_EQ(story.cloud.creates_asked[end.intent_name], 1);
}

TEST_F(Reconcile, AbsenceAloneDoesNotReleaseWhereTheProviderCannotFence) {
  fault_at(Slot::kCreate, OpFault::kLate);
  story.host().provider.mutable_identity().recovery = Recovery::kManual;
  const std::string name = story.run(story.call()).intent_name;
  const ReconcileReport report = reconcile_all();
  EXPECT_EQ(report.intents[0].result, Settled::kUnresolved);
  EXPECT_THAT(report.intents[0].detail, HasSubstr("--established absent --evidence"));
  story.cloud.finish_late(name);
  EXPECT_EQ(reconcile_all().intents[0].result, Settled::kReleased);
  EXPECT_FALSE(story.cloud.alive(name));
}

TEST_F(Reconcile, AnOperatorsOutcomeNeedsEvidenceAndIsRecordedWithIt) {
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  story.host().provider.mutable_identity().recovery = Recovery::kManual;
  const std::string name = story.run(story.call()).intent_name;
  ReconcileOptions options;
  options.name = name;
  options.established = Established::kAbsent;
  EXPECT_THAT(reconcile_all(options).intents[0].detail, HasSubstr("evidence"));
  EXPECT_EQ(state(name), IntentState::kUncertain);
  options.evidence = "the account page lists nothing";
  EXPECT_EQ(reconcile_all(options).intents[0].result, Settled::kReleased);
  EXPECT_THAT(story.rows.receipts.at(name).evidence, HasSubstr("the account page lists nothing"));
}

TEST_F(Reconcile, WhatIsBeingCleanedIsTalkedAwayOnlyWhereItsProviderIsGone) {
  fault_at(Slot::kDestroy, OpFault::kFailedDirty);
  const std::string name = story.run(story.call()).intent_name;
  EXPECT_EQ(state(name), IntentState::kCleaning);
  ReconcileOptions options;
  options.name = name;
  options.established = Established::kAbsent;
  options.evidence = "the account page lists nothing";
  EXPECT_EQ(reconcile_all(options).intents[0].result, Settled::kUnresolved);
  EXPECT_EQ(state(name), IntentState::kCleaning) << "its provider is there to delete it";

  options.provider_gone = true;
  ReconcileOptions silent = options;
  silent.evidence = " ";
  EXPECT_EQ(reconcile_all(silent).intents[0].result, Settled::kUnresolved);
  EXPECT_EQ(state(name), IntentState::kCleaning);
  EXPECT_EQ(reconcile_all(options).intents[0].result, Settled::kReleased);
  EXPECT_EQ(state(name), IntentState::kReleased);
  EXPECT_EQ(story.rows.journal.back().event, "delete_confirmed");
  EXPECT_THAT(story.rows.journal.back().evidence, HasSubstr("the account page lists nothing"));
  EXPECT_EQ(story.rows.receipts.at(name).cost, Money::micros(0));
}

TEST_F(Reconcile, ALivingHoldersIntentIsNeverTouched) {
  bool running = false;
  story.host(0).provider.on_effect = [&](Slot slot, const std::string&) {
    running = running || slot == Slot::kRun;
  };
  fault_at(Slot::kRun, OpFault::kHang);
  const auto end = story.host(0).start(story.call());
  ASSERT_TRUE(story.step_until([&] { return running; }));
  story.start_host();
  const ReconcileReport report = reconcile_all();
  EXPECT_EQ(report.intents[0].result, Settled::kHeld);
  EXPECT_THAT(report.intents[0].detail, HasSubstr("host-0"));
  const std::string name = story.rows.order[0];
  EXPECT_EQ(state(name), IntentState::kCreated);
  EXPECT_EQ(story.run(story.host(0), reconcile(story.host(0).services, {}))->intents[0].result,
            Settled::kHeld)
      << "nor by the host's own reconciliation while the call runs";
  EXPECT_FALSE(end->has_value());
}

TEST_F(Reconcile, WhatAHostCouldNotRecordIsSettledByTheWordItLeftAndNotAsItsDeath) {
  story.host(0).memory_store.commit_fault = [](const std::string& event) {
    return event == "delete_confirmed" ? CommitFault::kFailed : CommitFault::kNone;
  };
  const CallEnd end = story.run(story.call());
  EXPECT_EQ(end.status, CallEnd::Status::kInfrastructureError);
  EXPECT_NE(state(end.intent_name), IntentState::kReleased);
  ASSERT_TRUE(story.holders.words.contains(end.intent_name));
  story.start_host();
  story.crash(0);
  EXPECT_EQ(reconcile_all().intents[0].result, Settled::kReleased);
  const Receipt& receipt = story.rows.receipts.at(end.intent_name);
  EXPECT_EQ(receipt.settlement, Settlement::kInfrastructureFailure);
  EXPECT_EQ(receipt.cost, Money{});
  EXPECT_THAT(receipt.evidence, HasSubstr("could not record how it ended"));
  EXPECT_TRUE(story.holders.words.empty()) << "nobody needs it any more";
  const CallEnd again = story.run(story.call());
  EXPECT_TRUE(again.replayed);
  EXPECT_THAT(again.message, HasSubstr("could not record how it ended"));
}

TEST_F(Reconcile, AWordAboutWhatHadArrivedAfterAllIsDropped) {
  story.host(0).memory_store.commit_fault = [](const std::string& event) {
    return event == "delete_confirmed" ? CommitFault::kUnknownKept : CommitFault::kNone;
  };
  const CallEnd end = story.run(story.call());
  story.holders.words.insert_or_assign(end.intent_name, "left by mistake");
  EXPECT_EQ(state(end.intent_name), IntentState::kReleased);
  EXPECT_THAT(reconcile_all().intents, IsEmpty());
  EXPECT_TRUE(story.holders.words.empty());
}

TEST_F(Reconcile, TwoAtOnceShareTheWorkAndNeitherFails) {
  const std::string name = die_at(Slot::kRun);
  story.start_host();
  TestHost& one = story.host(1);
  TestHost& other = story.host(2);
  const auto first = one.start(reconcile(one.services, {}));
  const auto second = other.start(reconcile(other.services, {}));
  ASSERT_TRUE(story.step_until([&] { return first->has_value() && second->has_value(); }));
  std::size_t released = 0;
  for (const auto& ended : {first, second}) {
    const ReconcileReport& report = ***ended;
    EXPECT_EQ(report.count(Settled::kReleased) + report.count(Settled::kHeld), report.intents.size())
        << report.intents[0].detail;
    released += report.count(Settled::kReleased);
  }
  EXPECT_GE(released, 1U);
  EXPECT_EQ(state(name), IntentState::kReleased);
  EXPECT_FALSE(story.cloud.alive(name));
}

TEST_F(Reconcile, OneThatIsOvertakenReadsAgain) {
  for (const bool settled : {false, true}) {
    Harness fresh;
    bool reached = false;
    fresh.host(0).provider.on_effect = [&](Slot asked, const std::string&) {
      reached = reached || asked == Slot::kRun;
    };
    (void)fresh.host(0).start(fresh.call());
    ASSERT_TRUE(fresh.step_until([&] { return reached; }));
    fresh.start_host();
    fresh.crash(0);
    Intent& intent = fresh.rows.intents.at(fresh.rows.order.back());
    // Asked for between the first look at the intent and the commit that takes it over.
    fresh.host().provider.on_effect = [&](Slot asked, const std::string&) {
      if (asked != Slot::kScope) return;
      intent.revision += 1;
      if (settled) intent.state = IntentState::kReleased;
    };
    const ReconcileReport report = *fresh.run(reconcile(fresh.host().services, {}));
    EXPECT_EQ(report.intents[0].result, Settled::kReleased) << report.intents[0].detail;
    EXPECT_EQ(report.intents[0].detail.find("another process") != std::string::npos, settled);
    EXPECT_EQ(fresh.rows.intents.at(report.intents[0].name).state, IntentState::kReleased);
  }
}

TEST_F(Reconcile, WhatIsReleasedBetweenTheListAndTheRowsIsNoStray) {
  story.cloud.make("berth-going", model_scope("account-a"));
  int lists = 0;
  story.host().provider.on_effect = [&](Slot slot, const std::string&) {
    if (slot == Slot::kList && ++lists == 2) story.cloud.resources.at("berth-going").alive = false;
  };
  ReconcileOptions options;
  options.sweep = true;
  EXPECT_THAT(reconcile_all(options).strays, IsEmpty());
  EXPECT_EQ(lists, 2);
}

TEST_F(Reconcile, OtherOwnersSeeNothing) {
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  const std::string name = story.run(story.call()).intent_name;
  ReconcileOptions options;
  options.owner = "mallory";
  EXPECT_THAT(reconcile_all(options).intents, IsEmpty());
  options.name = name;
  options.established = Established::kAbsent;
  options.evidence = "trust me";
  const auto report = story.run(reconcile(story.host().services, options));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(state(name), IntentState::kUncertain);
}

TEST_F(Reconcile, TheSweepReportsWhatTheStoreDoesNotKnowAndDeletesNothing) {
  story.cloud.make("berth-stranger", model_scope("account-a"));
  ReconcileOptions options;
  options.sweep = true;
  const ReconcileReport report = reconcile_all(options);
  ASSERT_EQ(report.strays.size(), 1U);
  EXPECT_EQ(report.strays[0].listed.name, "berth-stranger");
  EXPECT_FALSE(report.strays[0].released);
  EXPECT_TRUE(story.cloud.alive("berth-stranger"));
}

TEST_F(Reconcile, TheSweepTellsWhatSomebodyKeepsReadyFromWhatNobodyDoes) {
  story.cloud.unnamed = {{"", "pool/1", "host/7", SandboxState::kReady, {}},
                         {"", "pool/2", "", SandboxState::kStopped, {}}};
  ReconcileOptions options;
  options.sweep = true;
  const ReconcileReport report = reconcile_all(options);
  ASSERT_EQ(report.made_ahead.size(), 1U);
  EXPECT_EQ(report.made_ahead[0].ref, "pool/1");
  EXPECT_EQ(report.made_ahead[0].holder, "host/7");
  ASSERT_EQ(report.strays.size(), 1U);
  EXPECT_EQ(report.strays[0].listed.ref, "pool/2");
}

TEST_F(Reconcile, FailuresAreRetriedWithGrowingPauses) {
  const std::string name = die_at(Slot::kRun);
  fault_at(Slot::kDestroy, OpFault::kFailedDirty);
  EXPECT_EQ(reconcile_all().intents[0].result, Settled::kUnresolved);
  const Intent& intent = story.rows.intents.at(name);
  EXPECT_EQ(due_at(intent) - intent.updated_at, std::chrono::seconds(1));
  ReconcileOptions options;
  options.due_only = true;
  EXPECT_EQ(reconcile_all(options).intents[0].result, Settled::kLeft);
  story.world.advance(std::chrono::seconds(2));
  EXPECT_EQ(reconcile_all(options).intents[0].result, Settled::kUnresolved);
  EXPECT_EQ(due_at(intent) - intent.updated_at, std::chrono::seconds(2));
}

TEST_F(Reconcile, ALateAnswerIsAppendedToTheIntentAndChangesNothing) {
  fault_at(Slot::kCreate, OpFault::kLostDone);
  const std::string name = story.run(story.call()).intent_name;
  story.settle();
  ASSERT_FALSE(story.rows.journal.empty());
  EXPECT_EQ(story.rows.journal.back().event, "late_answer");
  EXPECT_THAT(story.rows.journal.back().evidence, HasSubstr("ref/" + name));
  EXPECT_EQ(state(name), IntentState::kUncertain);
}

TEST_F(Reconcile, AnExpiredOutputIsSaidToHaveExpired) {
  const CallEnd end = story.run(story.call());
  story.world.advance(std::chrono::hours(1));
  EXPECT_EQ(*story.run(expire_results(story.host().services, story.world.wall)), 1U);
  const CallEnd again = story.run(story.call());
  EXPECT_TRUE(again.replayed);
  EXPECT_FALSE(again.document);
  EXPECT_THAT(again.message, HasSubstr("expired"));
  EXPECT_EQ(again.receipt->cost, end.receipt->cost);
}

TEST_F(Reconcile, AnIntentOfAnotherProviderIsLeftToThatProvider) {
  const std::string name = die_at(Slot::kRun);
  story.host().provider.mutable_identity().id = "another";
  const ReconcileReport report = reconcile_all();
  EXPECT_EQ(report.intents[0].result, Settled::kForeign);
  EXPECT_THAT(report.intents[0].detail, HasSubstr("'model'"));
  EXPECT_EQ(state(name), IntentState::kCreated);
}

// Retiring a session.

TEST_F(Retire, CleansConfirmedSandboxesAndReleasesTheirRecord) {
  const std::string name = die_at(Slot::kRun);
  const RetireReport report =
      *story.run(retire_session(story.host().services, Harness::request().key));
  EXPECT_EQ(report.state, SessionState::kRetired);
  EXPECT_EQ(state(name), IntentState::kReleased);
  EXPECT_FALSE(story.cloud.alive(name));
}

TEST_F(Retire, ARetryAcceptsProviderConfirmedAbsence) {
  const std::string name = die_at(Slot::kRun);
  fault_at(Slot::kDestroy, OpFault::kLostDone);
  story.host().services.limits.cleanup_budget = std::chrono::milliseconds(100);
  const RetireReport first =
      *story.run(retire_session(story.host().services, Harness::request().key));
  EXPECT_EQ(first.state, SessionState::kRetiring);
  ASSERT_EQ(first.unresolved.size(), 1U);
  story.host().provider.fault = nullptr;
  EXPECT_EQ(story.run(retire_session(story.host().services, Harness::request().key))->state,
            SessionState::kRetired);
  EXPECT_EQ(state(name), IntentState::kReleased);
}

TEST_F(Retire, AnUnknownCreateNeverUsesAbsenceToFinishAndAsksTheProviderNothing) {
  fault_at(Slot::kCreate, OpFault::kLostNotDone);
  const std::string name = story.run(story.call()).intent_name;
  int asked = 0;
  story.host().provider.on_effect = [&](Slot, const std::string&) { asked += 1; };
  const RetireReport report =
      *story.run(retire_session(story.host().services, Harness::request().key));
  EXPECT_EQ(report.state, SessionState::kRetiring);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(state(name), IntentState::kUncertain);
}

TEST_F(Retire, ProviderFailuresRetainOwnership) {
  const std::string name = die_at(Slot::kRun);
  fault_at(Slot::kDestroy, OpFault::kRejected);
  const RetireReport report =
      *story.run(retire_session(story.host().services, Harness::request().key));
  EXPECT_EQ(report.state, SessionState::kRetiring);
  EXPECT_EQ(state(name), IntentState::kCleaning);
}

TEST_F(Retire, AChangedProviderScopeCannotReleaseASandbox) {
  bool reached = false;
  story.host(0).provider.on_effect = [&](Slot slot, const std::string&) {
    reached = reached || slot == Slot::kRun;
  };
  (void)story.host(0).start(story.call());
  ASSERT_TRUE(story.step_until([&] { return reached; }));
  story.start_host("account-b");
  story.crash(0);
  const RetireReport report =
      *story.run(retire_session(story.host().services, Harness::request().key));
  EXPECT_EQ(report.state, SessionState::kRetiring);
  ASSERT_EQ(report.cleaned.intents.size(), 1U);
  EXPECT_EQ(report.cleaned.intents[0].result, Settled::kForeign);
  EXPECT_THAT(report.cleaned.intents[0].detail,
              HasSubstr("account was 'account-a' and is now 'account-b'"));
  EXPECT_TRUE(story.cloud.alive(story.rows.order[0]));
}

TEST_F(Retire, NothingOpenNeedsNoProvider) {
  int asked = 0;
  story.host().provider.on_effect = [&](Slot, const std::string&) { asked += 1; };
  const RetireReport report =
      *story.run(retire_session(story.host().services, Harness::request().key));
  EXPECT_EQ(report.state, SessionState::kRetired);
  EXPECT_EQ(asked, 0);
}

TEST_F(Retire, ASandboxCannotBeReleasedWithoutItsProvider) {
  const std::string name = die_at(Slot::kRun);
  story.host().provider.mutable_identity().id = "another";
  const RetireReport report =
      *story.run(retire_session(story.host().services, Harness::request().key));
  EXPECT_EQ(report.state, SessionState::kRetiring);
  EXPECT_TRUE(story.cloud.alive(name));
}

}  // namespace
}  // namespace berth::testing
