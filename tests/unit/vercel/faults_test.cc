// A service that misbehaves: what is asserted of a sandbox then, and what is left of it.
#include "tests/unit/vercel/provider_fixture.h"

namespace berth::vercel::tests {
namespace {

TEST_F(ProviderTest, ACreateWhoseReplyIsLostIsFoundByItsNameAndNotSentAgain) {
  host();
  fault(kCreate, R"("do": "drop", "when": "after")");
  const Answer made = host().create("berth-1");
  ASSERT_TRUE(made.done()) << made.message;
  EXPECT_EQ(service_->calls(kCreate), 1u);
  EXPECT_EQ(service_->machines(), 1u);
}

TEST_F(ProviderTest, ACreateThatLeavesNoTraceIsUncertainAndNotSentAgain) {
  host().set_deadline(std::chrono::seconds(4));
  fault(kCreate, R"("do": "drop", "when": "before")");
  EXPECT_EQ(host().create("berth-1").outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(service_->calls(kCreate), 1u);
}

TEST_F(ProviderTest, AFailureOfTheServiceAfterItMadeOneIsFoundByItsName) {
  host();
  for (const char* body : {"<html>bad gateway</html>", "{oops"}) {
    const std::string name = body[0] == '<' ? "berth-1" : "berth-2";
    const std::string status = body[0] == '<' ? "502" : "200";
    fault(kCreate, R"("do": "answer", "when": "after", "type": "text/html", "status": )" + status +
                       R"(, "body": ")" + body + R"(")");
    const Answer made = host().create(name);
    ASSERT_TRUE(made.done()) << made.message;
  }
  EXPECT_EQ(service_->calls(kCreate), 2u);
  EXPECT_EQ(service_->machines(), 2u);
}

TEST_F(ProviderTest, WhatTheServiceRefusesIsRejectedWithItsReason) {
  host();
  struct Case {
    int status;
    const char* code;
    Code expected;
  };
  for (const Case& one :
       {Case{400, "bad_request", Code::kInvalidArgument},
        Case{401, "not_authorized", Code::kUnauthenticated},
        Case{402, "payment_required", Code::kQuota}, Case{403, "forbidden", Code::kPermission},
        Case{422, "unprocessable", Code::kConflict},
        Case{429, "rate_limited", Code::kRateLimited}}) {
    fault(kCreate, answers(one.status, one.code, std::string("said ") + kToken));
    const Answer refused = host().create("berth-1");
    EXPECT_OUTCOME(refused, OutcomeClass::kRejected, one.expected);
    EXPECT_THAT(refused.message, HasSubstr(one.code));
  }
  EXPECT_EQ(service_->machines(), 0u);
}

TEST_F(ProviderTest, ARateLimitSaysWhenToComeAgain) {
  host();
  fault(kCreate, R"("headers": {"retry-after": "60"}, )" + answers(429, "rate_limited", "slow"));
  const Answer refused = host().create("berth-1");
  EXPECT_OUTCOME(refused, OutcomeClass::kRejected, Code::kRateLimited);
  EXPECT_EQ(refused.retry_after, std::chrono::seconds(60));
  EXPECT_EQ(service_->calls(kCreate), 1u);
}

TEST_F(ProviderTest, APageOfSomethingInBetweenIsNoWordOfTheService) {
  host();
  fault(kLook, R"("do": "answer", "status": 404, "type": "text/html", "body": "<html>404</html>")");
  EXPECT_EQ(host().lookup("berth-1").outcome_class, OutcomeClass::kUncertain);
  // A project that is not in sight is no absence either.
  fault(kLook, answers(404, "not_found", "Project not found"));
  fault("GET /v2/sandboxes", answers(404, "not_found", "Project not found"));
  EXPECT_EQ(host().lookup("berth-1").outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
}

TEST_F(ProviderTest, AStateThatWasNeverSeenIsLookedAtAgain) {
  host();
  fault(kCreate, R"("do": "state", "state": "defrosting", "looks": 3)");
  const Answer made = host().create("berth-1");
  ASSERT_TRUE(made.done()) << made.message;
  EXPECT_EQ(host().lookup("berth-1").get<Found>().state, SandboxState::kReady);
}

TEST_F(ProviderTest, ASandboxThatFailedToStartIsEndedAtOnceAndNotWaitedFor) {
  host();
  fault(kCreate, R"("do": "state", "state": "failed", "looks": 1)");
  const Answer failed = host().create("berth-1");
  EXPECT_OUTCOME(failed, OutcomeClass::kFailedClean, Code::kUnavailable);
  EXPECT_EQ(service_->machines(), 0u);
}

TEST_F(ProviderTest, AStopThatFailsKeepsNothingFromBeingDeleted) {
  const std::string ref = made();
  fault(kStop, answers(500, "internal_server_error", "boom"));
  const Answer ended = host().destroy("berth-1", ref);
  ASSERT_TRUE(ended.done()) << ended.message;
  EXPECT_EQ(service_->machines(), 0u);
}

TEST_F(ProviderTest, ADeletionThatIsNotSeenIsLookedForUntilItIs) {
  const std::string ref = made();
  fault(kDelete, R"("do": "linger", "looks": 3)");
  const Answer ended = host().destroy("berth-1", ref);
  ASSERT_TRUE(ended.done()) << ended.message;
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
}

TEST_F(ProviderTest, ADeletionThatCannotBeConfirmedIsNotDone) {
  const std::string ref = made();
  host().set_deadline(std::chrono::seconds(3));
  fault(kDelete, R"("times": 0, )" + answers(500, "internal_server_error", "boom"));
  EXPECT_EQ(host().destroy("berth-1", ref).outcome_class, OutcomeClass::kUncertain);
  host().set_deadline(std::chrono::seconds(0));
  service_->clear();
  EXPECT_TRUE(host().destroy("berth-1", ref).done());
  EXPECT_EQ(service_->machines(), 0u);
}

TEST_F(ProviderTest, AStreamThatIsCutIsTakenUpAgainWithoutAGapOrARepetition) {
  const std::string ref = made();
  for (const int bytes : {10, 400, 700, 2000, 30'000}) {
    service_->clear();
    fault(kRun, R"("do": "cut", "bytes": )" + std::to_string(bytes));
    const Answer ran = run(ref, {"python3", "-c", "for i in range(9000): print(i)"});
    ASSERT_TRUE(ran.done()) << bytes << ": " << ran.message;
    std::string expected;
    for (int i = 0; i < 9000; ++i) expected += std::to_string(i) + "\n";
    EXPECT_EQ(ran.out, expected) << bytes;
    EXPECT_EQ(ran.get<RunResult>().exit_code, 0);
    EXPECT_EQ(service_->calls(kRun), 1u);
  }
}

TEST_F(ProviderTest, ACommandWhoseReplyIsLostIsFoundAndNotRunTwice) {
  const std::string ref = made();
  fault(kRun, R"("do": "drop", "when": "after")");
  const Answer ran = shell(ref, "echo once >> /tmp/count; cat /tmp/count");
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "once\n");
  EXPECT_EQ(service_->calls(kRun), 1u);
}

TEST_F(ProviderTest, ACommandDuringSomebodysSnapshotIsSentOnceMoreWhenItIsOver) {
  const std::string ref = made();
  fault(kRun, answers(422, "sandbox_snapshotting", "Sandbox is creating a snapshot"));
  const Answer ran = shell(ref, "echo ran");
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "ran\n");
  EXPECT_EQ(service_->calls(kRun), 2u);
}

TEST_F(ProviderTest, ACommandOfASessionThatIsOverIsRefusedAndNothingIsResumed) {
  const std::string ref = made();
  fault(kRun, answers(410, "sandbox_stopped", "Sandbox has stopped execution"));
  EXPECT_OUTCOME(shell(ref, "true"), OutcomeClass::kRejected, Code::kNotFound);
  const auto journal = service_->journal();
  for (const auto& request : journal)
    EXPECT_THAT(std::string(request.as_object().at("path").as_string()), Not(HasSubstr("resume")));
}

TEST_F(ProviderTest, ARateLimitOfACommandIsWaitedForAndAFailureIsNotRepeated) {
  const std::string ref = made();
  fault(kRun, R"("headers": {"retry-after": "0"}, )" + answers(429, "rate_limited", "slow"));
  EXPECT_EQ(shell(ref, "echo ran").out, "ran\n");
  service_->clear();
  fault(kRun, answers(500, "internal_server_error", "boom"));
  EXPECT_OUTCOME(shell(ref, "true"), OutcomeClass::kUncertain, Code::kInternal);
  EXPECT_EQ(service_->calls(kRun), 1u);
}

TEST_F(ProviderTest, AProgramWhoseSandboxEndsUnderItIsLost) {
  const std::string ref = made();
  const berth_op op = host().start_run(ref, {.argv = {"sh", "-c", "echo begun; sleep 1000"}});
  ASSERT_TRUE(host().wait_until(op, [](const auto& call) { return !call.answer.out.empty(); }));
  ASSERT_TRUE(host().destroy("berth-1", ref).done());
  const Answer ran = host().wait(op);
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.get<RunResult>().cause, Cause::kLost);
  EXPECT_EQ(ran.get<RunResult>().exit_code, -1);
}

TEST_F(ProviderTest, AListThatLeadsToItselfIsNotFollowed) {
  made();
  const std::string page = R"({\"sandboxes\":[],\"pagination\":{\"count\":0,\"next\":\"abc\"}})";
  fault("GET /v2/sandboxes",
        R"("do": "answer", "status": 200, "type": "application/json", "body": ")" + page + R"(")");
  EXPECT_EQ(host().list_owned("owner", "abc").outcome_class, OutcomeClass::kUncertain);
}

}  // namespace
}  // namespace berth::vercel::tests
