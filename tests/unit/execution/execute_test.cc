#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "core/execution/execution.h"
#include "tests/support/harness.h"

namespace berth {
namespace {

using testing::Harness;
using testing::OpFault;
using testing::Slot;

ExecutionRequest request(std::string code = "print(1)") {
  ExecutionRequest made;
  made.code = std::move(code);
  made.key = {"owner", "session", "call"};
  return made;
}

class Story : public ::testing::Test {
 protected:
  ExecutionResult execute(ExecutionRequest wanted, ExecutionObserver* observer = nullptr) {
    return harness.run(berth::execute(harness.host().services, std::move(wanted), observer, cancellation));
  }
  void fail_at(Slot slot, OpFault fault) {
    harness.host().provider.fault = [slot, fault](Slot at, const std::string&) {
      return at == slot ? fault : OpFault::kNone;
    };
  }

  Harness harness;
  Cancellation cancellation;
};

class LastResult : public ExecutionObserver {
 public:
  void on_started() override { ++started; }
  Flow on_output(const OutputChunk& chunk) override {
    output += chunk.text;
    return Flow::kContinue;
  }
  void on_finished(const ExecutionResult& result) override { statuses.push_back(result.status); }

  int started = 0;
  std::string output;
  std::vector<ExecutionStatus> statuses;
};

using ExecuteStory = Story;

TEST_F(ExecuteStory, AGoodRunEndsWithItsReceipt) {
  LastResult seen;
  const ExecutionResult result = execute(request(), &seen);
  EXPECT_EQ(result.status, ExecutionStatus::kCompleted) << result.message;
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(result.failure);
  EXPECT_FALSE(result.replayed);
  ASSERT_TRUE(result.receipt);
  EXPECT_EQ(result.receipt->name, result.intent);
  EXPECT_EQ(result.receipt->settlement, Settlement::kCompleted);
  EXPECT_EQ(seen.started, 1);
  EXPECT_EQ(seen.statuses, std::vector<ExecutionStatus>{ExecutionStatus::kCompleted});
  std::set<std::string> phases;
  for (const auto& [phase, took] : result.timings_us) phases.insert(phase);
  for (const char* phase : {"create", "run", "collect", "cleanup"}) EXPECT_TRUE(phases.contains(phase)) << phase;
}

TEST_F(ExecuteStory, TheSameCallAgainIsTheRecordedResult) {
  const ExecutionResult first = execute(request());
  LastResult seen;
  const ExecutionResult second = execute(request(), &seen);
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.status, first.status);
  EXPECT_EQ(second.message, first.message);
  EXPECT_EQ(second.stdout_text.text, first.stdout_text.text);
  EXPECT_EQ(second.receipt->name, first.receipt->name);
  EXPECT_EQ(seen.started, 0);
  EXPECT_EQ(seen.output, first.stdout_text.text);
  EXPECT_EQ(harness.cloud.creates_asked.size(), 1u);
}

TEST_F(ExecuteStory, TheSameCallWithAnotherProgramIsAConflict) {
  execute(request());
  const ExecutionResult second = execute(request("print(2)"));
  EXPECT_EQ(second.status, ExecutionStatus::kInfrastructureError);
  ASSERT_TRUE(second.failure);
  EXPECT_EQ(second.failure->kind, ExecutionFailure::Kind::kRefused);
  EXPECT_NE(second.message.find("another request"), std::string::npos);
}

TEST_F(ExecuteStory, AnInvalidRequestReservesNothing) {
  LastResult seen;
  const ExecutionResult result = execute(request(std::string("a\0", 2)), &seen);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, ExecutionFailure::Kind::kInvalidRequest);
  EXPECT_TRUE(result.intent.empty());
  EXPECT_FALSE(result.receipt);
  EXPECT_TRUE(harness.cloud.log.empty());
  EXPECT_EQ(seen.statuses.size(), 1u);
}

TEST_F(ExecuteStory, EveryLostOperationIsAnInfrastructureErrorWithoutCharge) {
  int number = 0;
  for (const Slot slot : {Slot::kPutFile, Slot::kRun, Slot::kGetFile}) {
    fail_at(slot, OpFault::kLostDone);
    ExecutionRequest wanted = request();
    wanted.key.call = "call-" + std::to_string(++number);
    const ExecutionResult result = execute(wanted);
    EXPECT_EQ(result.status, ExecutionStatus::kInfrastructureError) << testing::to_string(slot);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->kind, ExecutionFailure::Kind::kInfrastructure);
    ASSERT_TRUE(result.receipt);
    EXPECT_EQ(result.receipt->cost, Money());
  }
}

TEST_F(ExecuteStory, AnUncertainCreateIsReportedAsSuch) {
  fail_at(Slot::kCreate, OpFault::kLostDone);
  const ExecutionResult result = execute(request());
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, ExecutionFailure::Kind::kUncertain);
  EXPECT_NE(result.message.find("berth reconcile"), std::string::npos);
}

TEST_F(ExecuteStory, ARefusedCreateIsARefusal) {
  fail_at(Slot::kCreate, OpFault::kRejected);
  const ExecutionResult result = execute(request());
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, ExecutionFailure::Kind::kRefused);
}

TEST_F(ExecuteStory, TheApplicationDeadlineIsAnInfrastructureError) {
  fail_at(Slot::kRun, OpFault::kHang);
  const ExecutionResult result = execute(request());
  EXPECT_EQ(result.status, ExecutionStatus::kInfrastructureError);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, ExecutionFailure::Kind::kDeadline) << result.message;
  EXPECT_EQ(result.receipt->cost, Money());
}

TEST_F(ExecuteStory, ACleanupThatIsNotConfirmedIsNoDeadlineHoweverTheProgramEnded) {
  for (const OpFault of_run : {OpFault::kNone, OpFault::kLostDone}) {
    harness.host().provider.fault = [of_run](Slot at, const std::string&) {
      return at == Slot::kDestroy ? OpFault::kFailedDirty : at == Slot::kRun ? of_run : OpFault::kNone;
    };
    ExecutionRequest wanted = request();
    wanted.key.call = "call-" + std::to_string(static_cast<int>(of_run));
    const ExecutionResult result = execute(wanted);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->kind, ExecutionFailure::Kind::kInfrastructure) << result.message;
    EXPECT_EQ(result.receipt->cost, Money());
  }
}

TEST_F(ExecuteStory, ACancelledRunSaysSo) {
  fail_at(Slot::kRun, OpFault::kHang);
  harness.host().provider.on_effect = [this](Slot slot, const std::string&) {
    if (slot == Slot::kRun) cancellation.request(Cancellation::Reason::kCaller);
  };
  const ExecutionResult result = execute(request());
  EXPECT_EQ(result.status, ExecutionStatus::kCancelled) << result.message;
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, ExecutionFailure::Kind::kCancelled);
  const boost::json::object document = to_json(result);
  EXPECT_EQ(document.at("status"), "cancelled");
  EXPECT_EQ(document.at("failure").at("kind"), "cancelled");
}

}  // namespace
}  // namespace berth
