// Operations through a loaded provider, in a worker and in process alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tests/unit/plugin/harness.h"

namespace berth::plugin {
namespace {

using registry::Hosting;
using testing::Contains;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::string pattern(std::size_t size) {
  std::string out(size, ' ');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 26);
  return out;
}

class Operations : public testing::TestWithParam<Hosting> {
 protected:
  void SetUp() override {
    ::setenv("BERTH_TEST_SECRET", "hunter2", 1);
    ::setenv("BERTH_TEST_OTHER", "not for providers", 1);
    auto loaded = harness_.load(harness_.request(Harness::test_plugin("faulty"), GetParam()));
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    loaded_ = std::move(*loaded);
  }
  void TearDown() override {
    if (loaded_) harness_.close(*loaded_);
  }
  Provider& provider() { return loaded_->provider(); }
  Answer<RunEnd> run(std::vector<std::string> argv, OutputSink& sink, Duration deadline = 30s) {
    return harness_.await(provider().run(within(deadline), "ref", command(std::move(argv)), sink));
  }
  Answer<RunEnd> run(std::vector<std::string> argv) {
    TestSink sink;
    return run(std::move(argv), sink);
  }
  void expect_uncertain(const Answer<RunEnd>& answer, OutcomeCode code) {
    EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kUncertain) << answer.outcome.message;
    EXPECT_EQ(answer.outcome.code, code) << answer.outcome.message;
    // The provider is as good as before.
    TestSink sink;
    EXPECT_TRUE(run({"echo", "still here"}, sink).outcome.done());
    EXPECT_EQ(sink.text, "still here");
  }

  Harness harness_;
  std::unique_ptr<LoadedProvider> loaded_;
};

INSTANTIATE_TEST_SUITE_P(Hosted, Operations, testing::Values(Hosting::kWorker, Hosting::kInProcess),
                         [](const auto& hosted) {
                           return hosted.param == Hosting::kWorker ? "InAWorker" : "InProcess";
                         });

TEST_P(Operations, ARunAnswersWithItsOutputAndItsEnd) {
  TestSink sink;
  const auto answer = run({"echo", "hello"}, sink);
  ASSERT_TRUE(answer.outcome.done()) << answer.outcome.message;
  EXPECT_EQ(sink.text, "hello");
  EXPECT_EQ(answer.value.cause, Cause::kExited);
  EXPECT_EQ(answer.value.exit_code, 0);
  EXPECT_EQ(answer.value.stdout_bytes, 5u);
  EXPECT_FALSE(answer.value.usage.cpu_ns.has_value());
}

TEST_P(Operations, ACompletionFromAnyThreadArrives) {
  TestSink sink;
  ASSERT_TRUE(run({"thread", "from afar"}, sink).outcome.done());
  EXPECT_EQ(sink.text, "from afar");
}

TEST_P(Operations, TheSlotsOfAnAllocationAnswerInHostTypes) {
  const auto created = harness_.await(provider().create(within(30s), "berth-1", CreateSpec{}));
  ASSERT_TRUE(created.outcome.done());
  EXPECT_EQ(created.value.name, "berth-1");
  EXPECT_EQ(created.value.scope, (Scope{{"account", "test"}}));
  const auto found = harness_.await(provider().lookup(within(30s), "berth-1"));
  EXPECT_EQ(found.value.presence, Presence::kAbsentNow);
  EXPECT_TRUE(harness_.await(provider().destroy(within(30s), "berth-1", "")).outcome.done());
  EXPECT_TRUE(harness_.await(provider().list_owned(within(30s), "tag")).outcome.done());
  const auto fenced = harness_.await(provider().fence(within(30s), "berth-1"));
  EXPECT_EQ(fenced.outcome.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(fenced.outcome.code, OutcomeCode::kUnsupported);
  EXPECT_EQ(loaded_->scope(), (Scope{{"account", "test"}}));
}

TEST_P(Operations, LargeOutputArrivesWholeAndInOrder) {
  TestSink sink;
  const auto answer = run({"big", "20000000"}, sink);
  ASSERT_TRUE(answer.outcome.done()) << answer.outcome.message;
  EXPECT_EQ(sink.text.size(), 20000000u);
  EXPECT_TRUE(sink.text == pattern(20000000));
}

TEST_P(Operations, ASlowReaderSlowsTheProviderAndNothingGrows) {
  TestSink sink;
  sink.pause_each = true;
  auto pending = harness_.begin(provider().run(within(60s), "ref", command({"big", "3000000"}), sink));
  while (!pending->done()) {
    ASSERT_TRUE(harness_.pump([&] { return sink.paused || pending->done(); }));
    if (sink.paused) sink.resume();
  }
  EXPECT_TRUE(pending->answer->outcome.done()) << pending->answer->outcome.message;
  EXPECT_TRUE(sink.text == pattern(3000000));
  EXPECT_LE(sink.largest_burst, 65536u);
}

TEST_P(Operations, AReaderThatStopsKeepsTheProviderWithinItsWindow) {
  TestSink sink;
  sink.pause_each = true;
  auto pending = harness_.begin(provider().run(within(2s), "ref", command({"big", "90000000"}), sink));
  ASSERT_TRUE(harness_.pump([&] { return sink.paused; }));
  // Nobody resumes: the provider stops at its window, and its answer is given at the deadline.
  const auto answer = harness_.finish(pending);
  EXPECT_EQ(sink.writes, 1);
  EXPECT_EQ(answer.value.cause, Cause::kCancelled);
  EXPECT_LE(answer.value.stdout_bytes, 600000u);
}

TEST_P(Operations, BeyondTheCapTheRestIsCountedAndNotSent) {
  TestSink sink;
  Command capped = command({"big", "1000000"});
  capped.stdout_cap_bytes = 100000;
  const auto answer = harness_.await(provider().run(within(30s), "ref", std::move(capped), sink));
  ASSERT_TRUE(answer.outcome.done());
  EXPECT_EQ(sink.text.size(), 100000u);
  EXPECT_EQ(answer.value.stdout_bytes, 1000000u);
}

TEST_P(Operations, ASinkThatHasEnoughGetsNoMoreAndTheCountIsWhole) {
  TestSink sink;
  sink.limit_bytes = 65536;
  const auto answer = run({"big", "5000000"}, sink);
  ASSERT_TRUE(answer.outcome.done());
  EXPECT_EQ(answer.value.stdout_bytes, 5000000u);
  EXPECT_EQ(sink.writes, 1);
}

TEST_P(Operations, InputGoesInWholeHoweverItComes) {
  for (const bool slow : {false, true}) {
    TestSink sink;
    const std::string text = pattern(slow ? 300000 : 2000000);
    TestSource source(text, 50000, slow);
    Command cat = command({"cat"});
    cat.input = &source;
    auto pending = harness_.begin(provider().run(within(60s), "ref", std::move(cat), sink));
    while (!pending->done()) {
      if (slow) source.supply();
      harness_.idle(1ms);
    }
    ASSERT_TRUE(pending->answer->outcome.done()) << pending->answer->outcome.message;
    EXPECT_TRUE(sink.text == text);
  }
}

TEST_P(Operations, ACancelledOperationAnswersAndItsStageIsSeen) {
  Cancellation cancellation;
  TestSink sink;
  std::vector<std::string> stages;
  OperationContext context = within(60s, &cancellation);
  context.on_stage = [&](std::string_view stage) { stages.emplace_back(stage); };
  auto pending =
      harness_.begin(provider().run(context, "ref", command({"until-cancelled"}), sink));
  ASSERT_TRUE(harness_.pump([&] { return !stages.empty(); }));
  EXPECT_THAT(stages, Contains("waiting for the end"));
  cancellation.request(Cancellation::Reason::kCaller);
  const auto answer = harness_.finish(pending);
  ASSERT_TRUE(answer.outcome.done());
  EXPECT_EQ(answer.value.cause, Cause::kCancelled);
  EXPECT_EQ(answer.outcome.stage, "waiting for the end");
}

TEST_P(Operations, ADeadlineIsACancellation) {
  TestSink sink;
  const auto answer = run({"until-cancelled"}, sink, 100ms);
  ASSERT_TRUE(answer.outcome.done()) << answer.outcome.message;
  EXPECT_EQ(answer.value.cause, Cause::kCancelled);
}

TEST_P(Operations, TheDescriptorOfACancellationIsReadableOnceTheDeadlinePasses) {
  TestSink sink;
  const auto answer = run({"poll-cancellation"}, sink, 100ms);
  ASSERT_TRUE(answer.outcome.done()) << answer.outcome.message;
  EXPECT_EQ(answer.value.cause, Cause::kCancelled);
}

TEST_P(Operations, TheDescriptorOfACancellationIsReadableOnceItIsAskedFor) {
  Cancellation cancellation;
  TestSink sink;
  bool polling = false;
  OperationContext context = within(60s, &cancellation);
  context.on_stage = [&](std::string_view) { polling = true; };
  auto pending = harness_.begin(provider().run(context, "ref", command({"poll-cancellation"}), sink));
  ASSERT_TRUE(harness_.pump([&] { return polling; }));
  cancellation.request(Cancellation::Reason::kCaller);
  const auto answer = harness_.finish(pending);
  ASSERT_TRUE(answer.outcome.done()) << answer.outcome.message;
  EXPECT_EQ(answer.value.cause, Cause::kCancelled);
}

// The manifest says perSandbox 4.
TEST_P(Operations, NoMoreAreOpenInOneSandboxThanItsManifestSaysAndTheOthersWaitTheirTurn) {
  Cancellation one;
  Cancellation rest;
  TestSink sink;
  int started = 0;
  std::vector<PendingPointer<Answer<RunEnd>>> pending;
  for (int i = 0; i < 4; ++i) {
    OperationContext context = within(60s, i == 0 ? &one : &rest);
    context.on_stage = [&](std::string_view) { ++started; };
    pending.push_back(harness_.begin(provider().run(context, "ref", command({"until-cancelled"}), sink)));
  }
  ASSERT_TRUE(harness_.pump([&] { return started == 4; }));
  TestSink fifth;
  auto waiting = harness_.begin(provider().run(within(60s), "ref", command({"echo", "at last"}), fifth));
  // Neither another sandbox nor the finding and ending of this one waits for it.
  TestSink other;
  const auto elsewhere =
      harness_.await(provider().run(within(60s), "other", command({"echo", "at once"}), other));
  EXPECT_TRUE(elsewhere.outcome.done());
  EXPECT_TRUE(harness_.await(provider().lookup(within(60s), "berth-1")).outcome.done());
  EXPECT_TRUE(harness_.await(provider().destroy(within(60s), "berth-1", "ref")).outcome.done());
  EXPECT_FALSE(waiting->done());
  const auto late = harness_.await(provider().run(within(50ms), "ref", command({"echo", "x"}), other));
  EXPECT_EQ(late.outcome.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(late.outcome.code, OutcomeCode::kHostUnsent);
  one.request(Cancellation::Reason::kCaller);
  EXPECT_TRUE(harness_.finish(waiting).outcome.done());
  EXPECT_EQ(fifth.text, "at last");
  rest.request(Cancellation::Reason::kCaller);
  for (const auto& each : pending) EXPECT_TRUE(harness_.finish(each).outcome.done());
}

TEST_P(Operations, EveryLogLineIsEitherPassedOnOrCountedAsDropped) {
  ASSERT_TRUE(run({"logs", "3000"}).outcome.done());
  harness_.close(*loaded_);
  std::size_t passed = 0;
  std::size_t dropped = 0;
  for (const std::string& line : harness_.log()) {
    if (line == "a line") ++passed;
    const std::size_t at = line.find(" log lines were dropped");
    if (at != std::string::npos) dropped += std::stoul(line.substr(0, at));
  }
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(passed + dropped, 3000u);
}

TEST_P(Operations, AFloodOfBreachesIsBoundedAndSaidToBe) {
  ASSERT_TRUE(run({"breaches", "3000"}).outcome.done());
  ASSERT_TRUE(run({"echo", "x"}).outcome.done());
  EXPECT_TRUE(harness_.logged("breaks its contract more than 50 times in a second"));
  EXPECT_EQ(loaded_->violations().size(), 256u);
}

TEST_P(Operations, AStageWithANulOrTooMuchTextIsABreachAndNotShown) {
  ASSERT_TRUE(run({"stage", std::string("a\0b", 3)}).outcome.done());
  ASSERT_TRUE(run({"stage", std::string(65, 's')}).outcome.done());
  EXPECT_THAT(loaded_->violations(), Contains(HasSubstr("[MEM-005] a stage that is not UTF-8 without NUL")));
  EXPECT_THAT(loaded_->violations(), Contains(HasSubstr("[MEM-006] a stage that is longer")));
}

TEST_P(Operations, WhatWasCancelledBeforeItWasSentIsRejectedAsUnsent) {
  Cancellation cancellation;
  cancellation.request(Cancellation::Reason::kCaller);
  TestSink sink;
  const auto answer = harness_.await(
      provider().run(within(30s, &cancellation), "ref", command({"echo", "x"}), sink));
  EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostUnsent);
  EXPECT_EQ(sink.text, "");
}

TEST_P(Operations, ArgumentsBeyondTheContractsBoundsAreNotSent) {
  const auto answer = harness_.await(provider().lookup(within(30s), "Not A Name"));
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostUnsent);
  TestSource source("x");
  const auto put = harness_.await(provider().put_file(within(30s), "ref", PutFile{"relative", 0644, 1}, source));
  EXPECT_EQ(put.outcome.code, OutcomeCode::kHostUnsent);
  EXPECT_THAT(put.outcome.message, HasSubstr("absolute"));
}

TEST_P(Operations, AbandoningDetachesAtOnceAndTheLateAnswerIsEvidence) {
  std::vector<LateAnswer> late;
  provider().on_late_answer([&](LateAnswer answer) { late.push_back(std::move(answer)); });
  Cancellation cancellation;
  TestSink sink;
  auto pending = harness_.begin(
      provider().run(within(60s, &cancellation), "ref-7", command({"late", "2000"}), sink));
  harness_.idle(50ms);
  cancellation.request(Cancellation::Reason::kCaller);
  cancellation.abandon();
  const auto answer = harness_.finish(pending);
  EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostDetached);
  ASSERT_TRUE(harness_.pump([&] { return !late.empty(); }));
  EXPECT_EQ(late[0].slot, "run");
  EXPECT_EQ(late[0].name, "ref-7");
  EXPECT_TRUE(late[0].outcome.done());
}

TEST_P(Operations, ADoubleCompletionIsIgnoredAndRecorded) {
  const auto answer = run({"twice"});
  ASSERT_TRUE(answer.outcome.done());
  EXPECT_EQ(answer.value.exit_code, 0);
  ASSERT_TRUE(harness_.pump([&] { return !loaded_->violations().empty(); }));
  EXPECT_THAT(loaded_->violations(), Contains(HasSubstr("[OP-002]")));
}

TEST_P(Operations, OutputAfterCompletionIsDroppedAndRecorded) {
  TestSink sink;
  ASSERT_TRUE(run({"output-after"}, sink).outcome.done());
  ASSERT_TRUE(harness_.pump([&] { return !loaded_->violations().empty(); }));
  EXPECT_THAT(loaded_->violations(), Contains(HasSubstr("[OP-001]")));
  EXPECT_EQ(sink.text, "");
}

TEST_P(Operations, OutputOnAStreamTheSlotHasNotMakesTheAnswerUncertain) {
  expect_uncertain(run({"wrong-stream"}), OutcomeCode::kHostBadReply);
  EXPECT_THAT(loaded_->violations(), Contains(HasSubstr("[STRM-001]")));
}

TEST_P(Operations, WhoeverWritesOnWhilePausedIsFoundOut) {
  TestSink sink;
  sink.pause_each = true;
  auto pending = harness_.begin(provider().run(within(5s), "ref", command({"flood"}), sink));
  ASSERT_TRUE(harness_.pump([&] { return sink.paused; }));
  ASSERT_TRUE(harness_.pump([&] { return !loaded_->violations().empty(); }));
  EXPECT_THAT(loaded_->violations(), Contains(HasSubstr("[STRM-004]")));
  while (!pending->done()) {
    ASSERT_TRUE(harness_.pump([&] { return sink.paused || pending->done(); }));
    if (sink.paused) sink.resume();
  }
  EXPECT_EQ(pending->answer->outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_LT(sink.text.size(), 64u * 65536u);  // what did not fit was dropped, not kept
}

TEST_P(Operations, AnUnknownClassIsUncertain) {
  expect_uncertain(run({"bad-class"}), OutcomeCode::kHostUnknownClass);
}

TEST_P(Operations, AnUnknownCodeIsReadAsInternalAndKeepsItsClass) {
  const auto answer = run({"bad-code"});
  EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kInternal);
}

TEST_P(Operations, AnswersThatDoNotHoldTogetherAreUncertain) {
  for (const char* action : {"bad-size", "bad-reserved", "no-outcome", "no-result", "bad-cause"}) {
    SCOPED_TRACE(action);
    expect_uncertain(run({action}), OutcomeCode::kHostBadReply);
  }
}

TEST_P(Operations, AnUnsetClassIsUncertain) {
  EXPECT_EQ(run({"unset"}).outcome.outcome_class, OutcomeClass::kUncertain);
}

TEST_P(Operations, AnExceptionOutOfASlotIsUncertainAndHarmsNothing) {
  const auto answer = run({"throw"});
  EXPECT_THAT(answer.outcome.message, HasSubstr("thrown by run"));
  expect_uncertain(answer, OutcomeCode::kHostException);
}

TEST_P(Operations, OnlyDeclaredSecretsAreGiven) {
  TestSink declared;
  run({"secret", "BERTH_TEST_SECRET"}, declared);
  EXPECT_EQ(declared.text, "hunter2");
  TestSink other;
  run({"secret", "BERTH_TEST_OTHER"}, other);
  EXPECT_EQ(other.text, "(none)");
  EXPECT_THAT(loaded_->violations(), Contains(HasSubstr("[SCOPE-004]")));
}

TEST_P(Operations, ManyAtOnceAreBoundedByTheManifestAndAllAnswer) {
  std::vector<TestSink> sinks(40);
  std::vector<PendingPointer<Answer<RunEnd>>> all;
  for (std::size_t i = 0; i < sinks.size(); ++i)
    all.push_back(harness_.begin(provider().run(
        within(60s), "ref", command({i % 2 == 0 ? "thread" : "echo", std::to_string(i)}), sinks[i])));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(harness_.finish(all[i]).outcome.done());
    EXPECT_EQ(sinks[i].text, std::to_string(i));
  }
}

TEST_P(Operations, WhatWaitsBeyondItsDeadlineWasNeverSent) {
  std::vector<TestSink> sinks(9);
  std::vector<PendingPointer<Answer<RunEnd>>> all;
  for (std::size_t i = 0; i < 8; ++i)
    all.push_back(harness_.begin(provider().run(within(60s), "ref", command({"late", "2000"}), sinks[i])));
  harness_.idle(20ms);
  const auto answer = harness_.await(provider().run(within(100ms), "ref", command({"echo", "x"}), sinks[8]));
  EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostUnsent);
  for (const auto& pending : all) EXPECT_TRUE(harness_.finish(pending).outcome.done());
}

TEST_P(Operations, AfterClosingNothingIsSent) {
  harness_.close(*loaded_);
  const auto answer = run({"echo", "x"});
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostUnsent);
  EXPECT_TRUE(loaded_->worker_pids().empty());
}

TEST_P(Operations, ACompletionAfterShutdownHarmsNothing) {
  LoadRequest request = harness_.request(Harness::test_plugin("faulty"), GetParam());
  request.configuration.providers["faulty"].config["shutdownTwice"] = true;
  auto second = harness_.load(std::move(request));
  ASSERT_TRUE(second.has_value()) << second.error().message();
  harness_.close(**second);
  EXPECT_TRUE(run({"echo", "x"}).outcome.done());
}

TEST_P(Operations, ConfigurationThatDoesNotFitTheSchemaIsRefusedBeforeOpen) {
  LoadRequest request = harness_.request(Harness::test_plugin("faulty"), GetParam());
  request.configuration.providers["faulty"].config["greeting"] = 7;
  const auto refused = harness_.load(std::move(request));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("config.greeting must be of type string, not 7"));
}

TEST_P(Operations, ConfigurationReachesTheProvider) {
  LoadRequest request = harness_.request(Harness::test_plugin("faulty"), GetParam());
  request.configuration.providers["faulty"].config["greeting"] = "good day";
  auto loaded = harness_.load(std::move(request));
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  TestSink sink;
  harness_.await((*loaded)->provider().run(within(30s), "ref", command({"config", "greeting"}), sink));
  EXPECT_EQ(sink.text, "\"good day\"");
  harness_.close(**loaded);
}

TEST_P(Operations, ACapabilityThatIsNotClaimedNamesTheMissingLink) {
  const Status status = loaded_->require("files.session");
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message(), HasSubstr("provider faulty does not claim it"));
  EXPECT_FALSE(loaded_->require("telepathy").has_value());
  EXPECT_EQ(loaded_->capabilities().size(), 14u);
}

}  // namespace
}  // namespace berth::plugin
