// Commands and files in real sandboxes, through Daytona's protocol.
#include "tests/remote/daytona_fixture.h"

namespace berth::tests {
namespace {

using ::testing::HasSubstr;

class DaytonaRun : public DaytonaTest {};

TEST_F(DaytonaRun, CreatesRunsAndDestroys) {
  DaytonaHost host(standin());
  const std::string wanted = name();
  const std::string ref = create(host, wanted);
  const auto ran = seen(host->run(ref, {.argv = {"sh", "-c", "echo out; echo err >&2; exit 3"}}));
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_EQ(ran.err, "err\n");
  EXPECT_EQ(ran.get<RunResult>().cause, Cause::kExited);
  EXPECT_EQ(ran.get<RunResult>().exit_code, 3);
  const auto ended = seen(host->destroy(wanted, ref));
  EXPECT_TRUE(ended.done()) << ended.message;
  EXPECT_EQ(standin().machines(), 0);
}

TEST_F(DaytonaRun, WordsVariablesAndFolderArriveAsTheyAre) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  testing::RunRequest run;
  run.argv = {"python3",
              "-c",
              "import os, sys; print(sys.argv[1:], os.environ['A B'] if 'A B' in os.environ else "
              "os.environ['A'], os.getcwd())",
              "it's",
              "$(id)",
              "",
              "a\nb",
              "*",
              "\xc3\xa9 \"q\" \\ `x`",
              "#"};
  run.env = {{"A", "v'a$l\nue"}};
  run.cwd = "/tmp";
  const auto ran = seen(host->run(ref, run));
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out,
            "[\"it's\", '$(id)', '', 'a\\nb', '*', '\xc3\xa9 \"q\" \\\\ `x`', '#'] "
            "v'a$l\nue /tmp\n")
      << ran.err;
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, BytesOfEveryKindComeBackApartAndWhole) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  const auto ran = seen(
      host->run(ref, {.argv = {"python3", "-c",
                               "import sys\n"
                               "b = bytes(range(256)) * 800\n"
                               "sys.stdout.buffer.write(b); sys.stderr.buffer.write(b[::-1])\n"}}));
  ASSERT_TRUE(ran.done()) << ran.message;
  std::string expected;
  for (int i = 0; i < 256 * 800; ++i) expected.push_back(static_cast<char>(i));
  EXPECT_EQ(ran.out, expected);
  EXPECT_EQ(ran.err, std::string(expected.rbegin(), expected.rend()));
  EXPECT_EQ(ran.get<RunResult>().stdout_bytes, expected.size());
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, OutputArrivesWhileTheProgramRuns) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  const berth_op op = host->start_run(
      ref, {.argv = {"sh", "-c", "echo first; while ! test -e go; do sleep 0.05; done; echo last"},
            .cwd = "/tmp"});
  EXPECT_TRUE(host->wait_until(op, [](const auto& call) { return call.answer.out == "first\n"; }));
  EXPECT_TRUE(host->put_file(ref, "/tmp/go", "").done());
  const auto ran = seen(host->wait(op));
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "first\nlast\n");
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, InputArrivesWholeAndInOrderThoughAnswersAreLost) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  constexpr const char* kInput =
      "POST /toolbox/{id}/process/session/{session}/command/{command}/input";
  std::string input;
  for (int i = 0; i < 300'000; ++i) input.push_back(static_cast<char>(i * 7 + i / 256));
  testing::RunRequest run;
  run.argv = {"cat"};
  run.input = input;
  testing::Behaviour late;
  late.input_chunk_bytes = 10'000;
  late.input_arrives_late = true;
  host->behave(late);
  for (const char* fault : {"", R"("nth":2,"do":"drop","when":"after","times":2)",
                            R"("nth":3,"do":"drop","when":"before","times":1)",
                            R"("nth":3,"do":"answer","when":"after","status":502,"body":"")"}) {
    standin().clear();
    if (*fault != '\0')
      standin().fault("{\"endpoint\":\"" + std::string(kInput) + "\"," + fault + "}");
    const auto ran = seen(host->run(ref, run));
    ASSERT_TRUE(ran.done()) << fault << ran.message;
    EXPECT_EQ(ran.out, input) << fault;
  }
  // A program need not take it.
  run.argv = {"true"};
  EXPECT_TRUE(seen(host->run(ref, run)).done());
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, AProgramRunsBeforeItsInputHasEnded) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  testing::RunRequest run;
  run.argv = {"python3", "-c", "import sys; print('up', flush=True); print(sys.stdin.read())"};
  run.input = "later";
  testing::Behaviour slow;
  slow.input_chunk_bytes = 1;
  slow.input_arrives_late = true;
  host->behave(slow);
  const auto ran = seen(host->run(ref, run));
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "up\nlater\n");
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, ADeadlineEndsACommandThatIsFollowed) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  host->set_deadline(std::chrono::seconds(4));
  const auto ran =
      seen(host->run(ref, {.argv = {"sh", "-c", "echo x; while true; do sleep 0.1; done"}}));
  host->set_deadline(std::chrono::seconds(0));
  EXPECT_EQ(ran.code, Code::kCancelled) << ran.message;
  const auto left = seen(host->run(
      ref,
      {.argv = {"sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'while tru[e]'"}}));
  EXPECT_EQ(left.out, "0\n");
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, SignalsTimeoutsAndLeftoversAreSeenForWhatTheyAre) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  const auto killed = seen(host->run(ref, {.argv = {"sh", "-c", "kill -9 $$"}}));
  ASSERT_TRUE(killed.done()) << killed.message;
  EXPECT_EQ(killed.get<RunResult>().cause, Cause::kSignalled);
  EXPECT_EQ(killed.get<RunResult>().signal, 9u);
  const auto code = seen(host->run(ref, {.argv = {"sh", "-c", "exit 137"}}));
  EXPECT_EQ(code.get<RunResult>().cause, Cause::kExited);
  EXPECT_EQ(code.get<RunResult>().exit_code, 137);
  const auto late = seen(host->run(ref, {.argv = {"sh", "-c", "setsid sleep 1234 & sleep 1234"},
                                         .timeout = std::chrono::milliseconds(600)}));
  ASSERT_TRUE(late.done()) << late.message;
  EXPECT_EQ(late.get<RunResult>().cause, Cause::kWall);
  EXPECT_TRUE(host->run(ref, {.argv = {"sh", "-c", "setsid sleep 1234 & echo gone"}}).done());
  const auto left = seen(host->run(
      ref,
      {.argv = {"sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 123[4]'"}}));
  EXPECT_EQ(left.out, "0\n");
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, CancellingEndsTheProgram) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  const berth_op op = host->start_run(ref, {.argv = {"sh", "-c", "echo up; exec sleep 1234"}});
  EXPECT_TRUE(host->wait_until(op, [](const auto& call) { return call.answer.out == "up\n"; }));
  host->cancel(op);
  const auto ran = seen(host->wait(op));
  EXPECT_EQ(ran.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(ran.code, Code::kCancelled);
  const auto left = seen(host->run(
      ref,
      {.argv = {"sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 123[4]'"}}));
  EXPECT_EQ(left.out, "0\n");
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, ASlowReaderALimitAndACapLoseNoCount) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  host->behave({.pause_every_bytes = 10'000});
  const auto slow = seen(host->run(ref, {.argv = {"sh", "-c", "yes | head -c 200000"}}));
  ASSERT_TRUE(slow.done()) << slow.message;
  EXPECT_EQ(slow.out.size(), 200'000u);
  testing::Behaviour capped;
  capped.stdout_limit_bytes = 1000;
  host->behave(capped);
  const auto cut =
      seen(host->run(ref, {.argv = {"sh", "-c", "yes | head -c 5000000; echo e >&2"}}));
  ASSERT_TRUE(cut.done()) << cut.message;
  EXPECT_EQ(cut.get<RunResult>().stdout_bytes, 5'000'000u);
  EXPECT_EQ(cut.err, "e\n");
  EXPECT_LE(cut.out.size(), 1000u);
  host->behave({});
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, FilesGoInAndOutWhole) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300'001}}) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 13 + i / 256));
    const auto put = seen(host->put_file(ref, "/tmp/a b/it's/file", bytes, 0750));
    ASSERT_TRUE(put.done()) << put.message;
    const auto got = seen(host->get_file(ref, "/tmp/a b/it's/file"));
    ASSERT_TRUE(got.done()) << got.message;
    EXPECT_EQ(got.file, bytes);
    EXPECT_EQ(got.get<GotFile>().mode & 0777u, 0750u);
  }
  const auto missing = seen(host->get_file(ref, "/tmp/none"));
  EXPECT_EQ(missing.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(missing.code, Code::kNotFound);
  const auto larger = seen(host->get_file(ref, "/tmp/a b/it's/file", 300'000));
  EXPECT_EQ(larger.code, Code::kQuota);
  EXPECT_TRUE(larger.file.empty());
  const auto folder = seen(host->get_file(ref, "/tmp/a b"));
  EXPECT_EQ(folder.code, Code::kInvalidArgument);
  // What a program may leave instead of a file. [FILE-002]
  ASSERT_TRUE(host->run(ref, {.argv = {"sh", "-c", "ln -s /etc/passwd /tmp/link; mkfifo /tmp/pipe"}}).done());
  for (const char* other : {"/tmp/link", "/tmp/pipe", "/dev/null"}) {
    const auto refused = seen(host->get_file(ref, other));
    EXPECT_EQ(refused.outcome_class, OutcomeClass::kRejected) << other;
    EXPECT_EQ(refused.code, Code::kInvalidArgument) << other;
    EXPECT_TRUE(refused.file.empty()) << other;
  }
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

TEST_F(DaytonaRun, APutThatIsCutShortLeavesNothing) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  ASSERT_TRUE(host->put_file(ref, "/tmp/kept", "before").done());
  standin().fault(R"({"endpoint":"POST /toolbox/{id}/files/bulk-upload","do":"answer",
    "status":502,"type":"text/html","body":"<html>Bad gateway</html>"})");
  const auto put = seen(host->put_file(ref, "/tmp/kept", "after"));
  EXPECT_EQ(put.outcome_class, OutcomeClass::kUncertain);
  EXPECT_THAT(put.message, HasSubstr("502"));
  EXPECT_EQ(host->get_file(ref, "/tmp/kept").file, "before");
  EXPECT_EQ(host->run(ref, {.argv = {"sh", "-c", "ls -A /tmp | grep -c berth"}}).out, "0\n");
  EXPECT_TRUE(host->destroy(wanted, ref).done());
}

}  // namespace
}  // namespace berth::tests
