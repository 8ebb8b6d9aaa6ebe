// How sandboxes end, and what commands survive of the service's known faults.
#include "tests/remote/daytona_fixture.h"

namespace berth::tests {
namespace {

using ::testing::HasSubstr;

class DaytonaEnd : public DaytonaTest {};

TEST_F(DaytonaEnd, GoneMeansThatTheIdIsNotFoundAnyMore) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  standin().clear();
  standin().fault(R"({"endpoint":"DELETE /sandbox/{id}","do":"linger","looks":6})");
  EXPECT_TRUE(host->destroy(wanted, ref).done());
  EXPECT_GE(standin().requests("GET /sandbox/{id}"), 7);
  EXPECT_EQ(standin().requests("DELETE /sandbox/{id}"), 1);
  EXPECT_EQ(standin().machines(), 0);
}

// The service answers from memory for ten seconds, and that something is not there as well.
TEST_F(DaytonaEnd, OneThatALookDoesNotSeeIsDeletedAllTheSame) {
  DaytonaHost host(standin());
  for (const bool by_name : {false, true}) {
    standin().clear();
    standin().fault(R"({"endpoint":"POST /sandbox","do":"hide","looks":1})");
    const std::string wanted = name(), ref = create(host, wanted);
    const auto ended = seen(host->destroy(wanted, by_name ? std::string() : ref));
    EXPECT_TRUE(ended.done()) << ended.message;
    EXPECT_EQ(standin().machines(), 0);
  }
}

TEST_F(DaytonaEnd, OneThatStaysIsNotDoneAndIsTriedAgain) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  standin().fault(R"({"endpoint":"DELETE /sandbox/{id}","do":"linger","looks":100000})");
  host->set_deadline(std::chrono::seconds(3));
  const auto stuck = seen(host->destroy(wanted, ref));
  EXPECT_EQ(stuck.outcome_class, OutcomeClass::kUncertain) << stuck.message;
  EXPECT_THAT(stuck.message, HasSubstr("is not confirmed"));
  host->set_deadline(std::chrono::seconds(0));
}

TEST_F(DaytonaEnd, ADeletionThatIsRefusedForNowIsRepeatedByForce) {
  DaytonaHost host(standin());
  for (const char* refusal :
       {R"("status":409,"body":{"message":"Sandbox state change in progress"})",
        R"("status":400,"body":{"message":"Sandbox state change in progress"})",
        R"("status":500,"body":{"message":"Sandbox is not in a valid state to be destroyed"})",
        R"("status":502,"type":"text/html","body":"<html>")",
        R"("status":429,"headers":{"Retry-After-sandbox-lifecycle":"0"},"body":{"message":"x"})"}) {
    const std::string wanted = name(), ref = create(host, wanted);
    standin().clear();
    standin().fault(
        "{\"endpoint\":\"DELETE /sandbox/{id}\",\"do\":\"answer\",\"when\":\"before\","
        "\"times\":3," +
        std::string(refusal) + "}");
    const auto ended = seen(host->destroy(wanted, ref));
    EXPECT_TRUE(ended.done()) << refusal << ended.message;
    EXPECT_GE(standin().requests("POST /sandbox/{id}/stop"), 1);
    EXPECT_EQ(standin().machines(), 0);
  }
}

TEST_F(DaytonaEnd, LostAnswersToADeletionLoseNothing) {
  DaytonaHost host(standin());
  for (const char* when : {"before", "after"}) {
    const std::string wanted = name(), ref = create(host, wanted);
    standin().fault("{\"endpoint\":\"DELETE /sandbox/{id}\",\"do\":\"drop\",\"when\":\"" +
                    std::string(when) + "\"}");
    const auto ended = seen(host->destroy(wanted, ref));
    EXPECT_TRUE(ended.done()) << ended.message;
    EXPECT_EQ(standin().machines(), 0);
  }
}

TEST_F(DaytonaEnd, ANameWhoseSandboxIsStillGoingIsFoundByItsLabel) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  standin().fault(R"({"endpoint":"DELETE /sandbox/{id}","do":"linger","looks":12})");
  host->set_deadline(std::chrono::milliseconds(1100));
  host->destroy(wanted, ref);
  host->set_deadline(std::chrono::seconds(0));
  // Its name is free; a process that knows no more has to wait for it all the same.
  DaytonaHost fresh(standin());
  EXPECT_TRUE(fresh->destroy(wanted).done());
  EXPECT_EQ(standin().machines(), 0);
}

class DaytonaFaults : public DaytonaTest {
 protected:
  static constexpr const char* kLogs =
      "GET /toolbox/{id}/process/session/{session}/command/{command}/logs";
  static constexpr const char* kCommand =
      "GET /toolbox/{id}/process/session/{session}/command/{command}";
  static constexpr const char* kExec = "POST /toolbox/{id}/process/session/{session}/exec";

  static void fault(const char* endpoint, const std::string& rest) {
    standin().fault("{\"endpoint\":\"" + std::string(endpoint) + "\"," + rest + "}");
  }
};

TEST_F(DaytonaFaults, LogsThatBreakAreReadAgainWithoutLossOrRepetition) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  const char* faults[] = {
      R"("do":"drop","when":"before","times":2)",
      R"("do":"cut","bytes":5000,"times":3)",
      R"("do":"cut","bytes":0,"times":2)",
      R"("do":"answer","status":502,"type":"text/html","body":"<html>","times":3)",
      R"("do":"answer","status":400,"times":2,"body":{"statusCode":400,"code":"BAD_REQUEST",
         "message":"bad request: failed to get runner info","source":"DAYTONA_PROXY"})",
      R"("do":"answer","status":200,"times":2,"body":{"output":"","stdout":"","stderr":""})"};
  for (const char* each : faults) {
    standin().clear();
    fault(kLogs, each);
    const auto ran =
        seen(host->run(ref, {.argv = {"python3", "-c",
                                      "import sys, time\n"
                                      "for i in range(40):\n"
                                      "    print(i, 'x' * 500, flush=True); time.sleep(0.02)\n"}}));
    ASSERT_TRUE(ran.done()) << each << ran.message;
    std::string expected;
    for (int i = 0; i < 40; ++i) expected += std::to_string(i) + " " + std::string(500, 'x') + "\n";
    EXPECT_EQ(ran.out, expected) << each;
    EXPECT_EQ(standin().requests(kExec), 1);
  }
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaFaults, ACommandIsNeverSentTwice) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  for (const char* each : {R"("do":"drop","when":"after")", R"("do":"drop","when":"before")",
                           R"("do":"answer","when":"after","status":502,"type":"text/html",
                              "body":"<html>")"}) {
    standin().clear();
    fault(kExec, each);
    const auto ran = seen(host->run(ref, {.argv = {"sh", "-c", "echo once >> /tmp/ran"}}));
    EXPECT_EQ(ran.outcome_class, OutcomeClass::kUncertain) << each;
    EXPECT_EQ(standin().requests(kExec), 1);
  }
  standin().clear();
  fault(kExec, R"("do":"answer","when":"before","status":410,"body":{"message":"gone: ended"})");
  EXPECT_EQ(seen(host->run(ref, {})).outcome_class, OutcomeClass::kRejected);
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaFaults, AnEndThatNobodySawIsNoExit) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  // The daemon is dead and the service does not know.
  fault(kLogs, R"("do":"answer","status":502,"type":"text/html","body":"","times":0)");
  fault(kCommand, R"("do":"answer","status":502,"type":"text/html","body":"","times":0)");
  const auto dead = seen(host->run(ref, {}));
  EXPECT_FALSE(dead.done() && dead.get<RunResult>().cause == Cause::kExited);
  // A missing shell, as old daemons tell of it.
  standin().clear();
  fault(kLogs, R"("do":"answer","status":200,"times":0,
    "body":{"output":"","stdout":"","stderr":""})");
  fault(kCommand, R"("do":"answer","status":200,"times":0,"body":{"id":"x","exitCode":-1})");
  const auto minus_one = seen(host->run(ref, {}));
  EXPECT_FALSE(minus_one.done() && minus_one.get<RunResult>().cause != Cause::kLost)
      << "-1 is neither an exit nor a signal";
  standin().clear();
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaFaults, ARunInASandboxThatEndsIsLost) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  const berth_op op = host->start_run(ref, {.argv = {"sh", "-c", "echo up; sleep 1234"}});
  EXPECT_TRUE(host->wait_until(op, [](const auto& call) { return call.answer.out == "up\n"; }));
  EXPECT_TRUE(host->destroy(wanted, ref).done());
  const auto ran = seen(host->wait(op));
  EXPECT_FALSE(ran.done() && ran.get<RunResult>().cause != Cause::kLost) << ran.message;
}

TEST_F(DaytonaFaults, ATimeIsKeptEvenWhenTheServiceTellsNothing) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  fault(kLogs, R"("do":"answer","status":200,"times":0,
    "body":{"output":"","stdout":"","stderr":""})");
  fault(kCommand, R"("do":"answer","status":200,"times":0,"body":{"id":"x"})");
  const auto ran =
      seen(host->run(ref, {.argv = {"sleep", "1234"}, .timeout = std::chrono::milliseconds(200)}));
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.get<RunResult>().cause, Cause::kWall);
  standin().clear();
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaFaults, AnUploadThatFailsInPartIsAFailure) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  for (const char* answer :
       {R"("status":400,"body":{"statusCode":400,"message":""})",
        R"("status":400,"body":{"errors":["/tmp/x: disk full"],"files":[]})",
        R"("status":200,"body":{"errors":["/tmp/x: disk full"],"files":[]})"}) {
    standin().clear();
    fault("POST /toolbox/{id}/files/bulk-upload",
          "\"do\":\"answer\",\"when\":\"before\"," + std::string(answer));
    EXPECT_FALSE(seen(host->put_file(ref, "/tmp/x", "abc")).done()) << answer;
    EXPECT_EQ(host->get_file(ref, "/tmp/x").code, Code::kNotFound);
  }
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaFaults, ADownloadThatIsCutIsNotPassedOff) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  ASSERT_TRUE(host->put_file(ref, "/tmp/x", std::string(100'000, 'x')).done());
  fault("GET /toolbox/{id}/files/download", R"("do":"cut","bytes":5000)");
  EXPECT_EQ(seen(host->get_file(ref, "/tmp/x")).outcome_class, OutcomeClass::kUncertain);
  EXPECT_TRUE(host->get_file(ref, "/tmp/x").done());
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

}  // namespace
}  // namespace berth::tests
