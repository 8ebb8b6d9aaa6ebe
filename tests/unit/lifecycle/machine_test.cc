#include "core/lifecycle/machine.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace berth {
namespace {

using S = IntentState;
using E = EventKind;

const Scope kScope = {{"account", "account-a"}, {"endpoint", "here"}};
const Holder kOld = {"boot", "host-old", "lock-old"};
const Holder kNew = {"boot", "host-new", "lock-new"};

Intent intent_in(S state) {
  Intent intent;
  intent.name = "berth-1";
  intent.scope = kScope;
  intent.holder = kOld;
  intent.state = state;
  intent.dispatched = state != S::kIntended;
  return intent;
}

// An event with everything that the machine asks for.
Event good(E kind) {
  Event event;
  event.kind = kind;
  event.at = wall_time_from_unix_ms(5000);
  event.evidence = "seen";
  event.name = "berth-1";
  event.ref = "ref-1";
  event.scope = kScope;
  event.holder = kNew;
  event.holder_gone = true;
  return event;
}

struct Cell {
  S to;
  std::optional<Effect> effect;
};

// The whole table. What is not in it is refused.
const std::map<std::pair<S, E>, Cell> kTable = {
    {{S::kIntended, E::kDispatch}, {S::kDispatched, Effect::kAskCreate}},
    {{S::kIntended, E::kCancel}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kIntended, E::kRefuse}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kIntended, E::kRecover}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kDispatched, E::kCancel}, {S::kDispatched, std::nullopt}},
    {{S::kDispatched, E::kCreateDone}, {S::kCreated, Effect::kMayRun}},
    {{S::kDispatched, E::kCreateRejected}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kDispatched, E::kCreateFailedClean}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kDispatched, E::kCreateFailedDirty}, {S::kCleaning, Effect::kDelete}},
    {{S::kDispatched, E::kCreateUncertain}, {S::kUncertain, Effect::kSuspend}},
    {{S::kDispatched, E::kRecover}, {S::kUncertain, Effect::kSuspend}},
    {{S::kCreated, E::kRun}, {S::kRunning, std::nullopt}},
    {{S::kCreated, E::kFinish}, {S::kCleaning, Effect::kDelete}},
    {{S::kCreated, E::kCancel}, {S::kCleaning, Effect::kDelete}},
    {{S::kCreated, E::kRecover}, {S::kCleaning, Effect::kDelete}},
    {{S::kRunning, E::kFinish}, {S::kCleaning, Effect::kDelete}},
    {{S::kRunning, E::kCancel}, {S::kCleaning, Effect::kDelete}},
    {{S::kRunning, E::kRecover}, {S::kCleaning, Effect::kDelete}},
    {{S::kCleaning, E::kDeleteConfirmed}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kCleaning, E::kDeleteFailed}, {S::kCleaning, std::nullopt}},
    {{S::kCleaning, E::kRecover}, {S::kCleaning, Effect::kDelete}},
    {{S::kUncertain, E::kRecover}, {S::kUncertain, std::nullopt}},
    {{S::kUncertain, E::kFound}, {S::kCleaning, Effect::kDelete}},
    {{S::kUncertain, E::kInconclusive}, {S::kUncertain, std::nullopt}},
    {{S::kUncertain, E::kFenced}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kUncertain, E::kEstablishedAbsent}, {S::kReleased, Effect::kSettleReceipt}},
    {{S::kUncertain, E::kEstablishedPresent}, {S::kCleaning, Effect::kDelete}},
    {{S::kReleased, E::kExpire}, {S::kReleased, std::nullopt}},
};

constexpr std::array kAllEffects = {Effect::kAskCreate, Effect::kMayRun, Effect::kDelete,
                                    Effect::kSettleReceipt, Effect::kSuspend};

using CellCase = std::tuple<std::size_t, std::size_t>;
class MachineTable : public ::testing::TestWithParam<CellCase> {};

TEST_P(MachineTable, LeadsWhereTheTableSaysOrRefuses) {
  const auto state = static_cast<S>(std::get<0>(GetParam()));
  const auto kind = static_cast<E>(std::get<1>(GetParam()));
  const Result<Transition> made = transition(intent_in(state), good(kind));
  const auto cell = kTable.find({state, kind});
  EXPECT_EQ(is_defined(state, kind), cell != kTable.end());
  if (cell == kTable.end()) {
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind(), ErrorKind::kRefused);
    EXPECT_NE(made.error().message().find("berth-1"), std::string::npos);
    return;
  }
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->intent.state, cell->second.to);
  EXPECT_EQ(made->intent.updated_at, wall_time_from_unix_ms(5000));
  for (const Effect effect : kAllEffects)
    EXPECT_EQ(made->effects.has(effect), cell->second.effect == effect);
}

INSTANTIATE_TEST_SUITE_P(EveryCell, MachineTable,
                         ::testing::Combine(::testing::Range(std::size_t{0}, kIntentStateCount),
                                            ::testing::Range(std::size_t{0}, kEventKindCount)),
                         [](const ::testing::TestParamInfo<CellCase>& cell) {
                           std::string name(to_string(static_cast<S>(std::get<0>(cell.param))));
                           return name + "_" +
                                  std::string(to_string(static_cast<E>(std::get<1>(cell.param))));
                         });

TEST(Machine, ACreateThatSucceedsAfterTheCancelGoesToCleaningAndNeverRuns) {
  const Transition cancelled = *transition(intent_in(S::kDispatched), good(E::kCancel));
  EXPECT_TRUE(cancelled.intent.cancel_requested);
  const Transition created = *transition(cancelled.intent, good(E::kCreateDone));
  EXPECT_EQ(created.intent.state, S::kCleaning);
  EXPECT_FALSE(created.effects.has(Effect::kMayRun));
  EXPECT_TRUE(created.effects.has(Effect::kDelete));
}

TEST(Machine, ACreateUnderAnotherNameOrInAnotherScopeIsUncertain) {
  Event other_name = good(E::kCreateDone);
  other_name.name = "berth-2";
  Event other_scope = good(E::kCreateDone);
  other_scope.scope[0].second = "account-b";
  for (const Event& event : {other_name, other_scope}) {
    const Transition made = *transition(intent_in(S::kDispatched), event);
    EXPECT_EQ(made.intent.state, S::kUncertain);
    EXPECT_EQ(made.intent.holder, Holder{});
    EXPECT_TRUE(made.effects.has(Effect::kSuspend));
    EXPECT_FALSE(made.intent.last_error.empty());
  }
  EXPECT_NE(transition(intent_in(S::kDispatched), other_scope)
                ->intent.last_error.find("'account' is not 'account-a'"),
            std::string::npos);
}

TEST(Machine, WhatIsFoundElsewhereIsNotAdopted) {
  Event elsewhere = good(E::kFound);
  elsewhere.scope[1].second = "there";
  const Transition made = *transition(intent_in(S::kUncertain), elsewhere);
  EXPECT_EQ(made.intent.state, S::kUncertain);
  EXPECT_TRUE(made.effects.empty());
}

TEST(Machine, ALivingHoldersIntentIsNotRecovered) {
  for (const S state :
       {S::kIntended, S::kDispatched, S::kCreated, S::kRunning, S::kCleaning, S::kUncertain}) {
    Event recover = good(E::kRecover);
    recover.holder_gone = false;
    const Result<Transition> made = transition(intent_in(state), recover);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message().find("host-old"), std::string::npos);
  }
}

TEST(Machine, RecoveryHandsTheIntentToTheRecoveringHost) {
  EXPECT_EQ(transition(intent_in(S::kCreated), good(E::kRecover))->intent.holder, kNew);
  EXPECT_EQ(transition(intent_in(S::kDispatched), good(E::kRecover))->intent.holder, kNew);
}

TEST(Machine, AnOperatorsWordNeedsEvidence) {
  for (const E kind : {E::kEstablishedAbsent, E::kEstablishedPresent}) {
    Event event = good(kind);
    event.evidence = " ";
    EXPECT_FALSE(transition(intent_in(S::kUncertain), event));
  }
}

TEST(Machine, NobodyHoldsWhatIsReleasedUncertainOrGivenUp) {
  EXPECT_EQ(transition(intent_in(S::kDispatched), good(E::kCreateUncertain))->intent.holder,
            Holder{});
  EXPECT_EQ(transition(intent_in(S::kCleaning), good(E::kDeleteFailed))->intent.holder, Holder{});
  EXPECT_EQ(transition(intent_in(S::kCleaning), good(E::kDeleteConfirmed))->intent.holder,
            Holder{});
  EXPECT_EQ(transition(intent_in(S::kUncertain), good(E::kInconclusive))->intent.holder, Holder{});
}

TEST(Machine, AnExpiredResultIsToldFromOneThatNeverWas) {
  Intent with = intent_in(S::kReleased);
  with.result = "42";
  const Intent expired = transition(with, good(E::kExpire))->intent;
  EXPECT_FALSE(expired.result);
  EXPECT_TRUE(expired.result_expired);
  EXPECT_FALSE(transition(intent_in(S::kReleased), good(E::kExpire))->intent.result_expired);
}

TEST(CreateAnswers, OnlyRejectedAndFailedCleanSayThatNothingIsLeft) {
  const auto kind_of = [](OutcomeClass outcome_class) {
    Answer<Created> answer;
    answer.outcome = Outcome::make(outcome_class, OutcomeCode::kInternal, "said");
    return event_of_create(std::move(answer), {}).kind;
  };
  EXPECT_EQ(kind_of(OutcomeClass::kDone), E::kCreateDone);
  EXPECT_EQ(kind_of(OutcomeClass::kRejected), E::kCreateRejected);
  EXPECT_EQ(kind_of(OutcomeClass::kFailedClean), E::kCreateFailedClean);
  EXPECT_EQ(kind_of(OutcomeClass::kFailedDirty), E::kCreateFailedDirty);
  EXPECT_EQ(kind_of(OutcomeClass::kUncertain), E::kCreateUncertain);
  EXPECT_EQ(kind_of(OutcomeClass::kUnset), E::kCreateUncertain);
  EXPECT_EQ(kind_of(static_cast<OutcomeClass>(77)), E::kCreateUncertain);
}

TEST(LookupAnswers, OneMissingResourceAnswerIsNoProof) {
  const auto kind_of = [](OutcomeClass outcome_class, Presence presence) {
    Answer<Found> answer;
    answer.outcome = Outcome::make(outcome_class, OutcomeCode::kNone, "");
    answer.value.presence = presence;
    return event_of_lookup(std::move(answer), {}).kind;
  };
  EXPECT_EQ(kind_of(OutcomeClass::kDone, Presence::kPresent), E::kFound);
  EXPECT_EQ(kind_of(OutcomeClass::kDone, Presence::kAbsentFenced), E::kFenced);
  EXPECT_EQ(kind_of(OutcomeClass::kDone, Presence::kAbsentNow), E::kInconclusive);
  EXPECT_EQ(kind_of(OutcomeClass::kDone, Presence::kInProgress), E::kInconclusive);
  EXPECT_EQ(kind_of(OutcomeClass::kDone, Presence::kUnknown), E::kInconclusive);
  EXPECT_EQ(kind_of(OutcomeClass::kRejected, Presence::kAbsentFenced), E::kInconclusive);
}

TEST(DestroyAnswers, OnlyTheProvidersOwnConfirmationEndsAnAllocation) {
  for (const auto outcome_class :
       {OutcomeClass::kUnset, OutcomeClass::kRejected, OutcomeClass::kFailedClean,
        OutcomeClass::kFailedDirty, OutcomeClass::kUncertain}) {
    Answer<Destroyed> answer;
    answer.outcome.outcome_class = outcome_class;
    EXPECT_EQ(event_of_destroy(answer, {}).kind, E::kDeleteFailed);
  }
  EXPECT_EQ(event_of_destroy({Outcome::make_done(), {}}, {}).kind, E::kDeleteConfirmed);
}

TEST(Price, OnlyACompletedCallHasOne) {
  const Money price = Money::cents(5);
  EXPECT_EQ(cost_of(Settlement::kCompleted, price), price);
  for (const Settlement settlement : {Settlement::kInfrastructureFailure, Settlement::kCancelled,
                                      Settlement::kRefused, Settlement::kHostDied})
    EXPECT_EQ(cost_of(settlement, price), Money{});
}

}  // namespace
}  // namespace berth
