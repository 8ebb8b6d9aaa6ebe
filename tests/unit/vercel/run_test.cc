// Programs: what they write, how they end, and how they are ended.
#include "tests/unit/vercel/provider_fixture.h"

namespace berth::vercel::tests {
namespace {

// Prints the programs that a test has left.
constexpr const char* kSleepers =
    "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep '[s]leep 1000'; true";

TEST_F(ProviderTest, StreamsComeApartWithTheirExactBytes) {
  const std::string ref = made();
  const Answer ran = shell(ref, R"(printf 'a\000\377\342\202' ; printf 'e\n' >&2; exit 3)");
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, std::string("a\0\xff\xe2\x82", 5));
  EXPECT_EQ(ran.err, "e\n");
  EXPECT_EQ(ran.get<RunResult>().cause, Cause::kExited);
  EXPECT_EQ(ran.get<RunResult>().exit_code, 3);
  EXPECT_EQ(ran.get<RunResult>().stdout_bytes, 5u);
  EXPECT_EQ(ran.get<RunResult>().stderr_bytes, 2u);
}

TEST_F(ProviderTest, RunsWordsFolderVariablesAndInputAsTheyAre) {
  const std::string ref = made();
  RunRequest request;
  request.argv = {"python3",
                  "-c",
                  "import os,sys; print(sys.argv[1:], os.getcwd(), os.environ['V'], "
                  "repr(sys.stdin.read()))",
                  "$(id) 'a\"b'",
                  "\xc3\xa4",
                  ""};
  request.cwd = "/tmp";
  request.env = {{"V", "a'b\n$V"}};
  request.input = std::string("line\n\0end", 9);
  const Answer ran = host().run(ref, request);
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "['$(id) \\'a\"b\\'', '\xc3\xa4', ''] /tmp a'b\n$V 'line\\n\\x00end'\n")
      << ran.err;
}

// Of the parts in which the input arrives some are sent twice.
TEST_F(ProviderTest, InputArrivesWholeAndInOrderThoughAnswersAreLost) {
  const std::string ref = made();
  constexpr const char* kWrite = "POST /v2/sandboxes/sessions/{session}/fs/write";
  RunRequest request;
  request.argv = {"cat"};
  for (int i = 0; i < 300'000; ++i) request.input.push_back(static_cast<char>(i * 7 + i / 256));
  berth::testing::Behaviour late;
  late.input_chunk_bytes = 30'000;
  late.input_arrives_late = true;
  host().behave(late);
  for (const char* wrong : {"", R"("nth": 2, "do": "drop", "when": "after", "times": 2)",
                            R"("nth": 3, "do": "drop", "when": "before")",
                            R"("nth": 3, "do": "answer", "when": "after", "status": 502, "body": "")"}) {
    service_->clear();
    if (*wrong != '\0') fault(kWrite, wrong);
    const Answer ran = host().run(ref, request);
    ASSERT_TRUE(ran.done()) << wrong << ran.message;
    EXPECT_EQ(ran.out, request.input) << wrong;
  }
  // A program need not take it.
  request.argv = {"true"};
  EXPECT_TRUE(host().run(ref, request).done());
}

TEST_F(ProviderTest, AProgramRunsBeforeItsInputHasEnded) {
  const std::string ref = made();
  RunRequest request;
  request.argv = {"python3", "-c", "import sys; print('up', flush=True); print(sys.stdin.read())"};
  request.input = "later";
  berth::testing::Behaviour slow;
  slow.input_chunk_bytes = 1;
  slow.input_arrives_late = true;
  host().behave(slow);
  const Answer ran = host().run(ref, request);
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "up\nlater\n");
}

TEST_F(ProviderTest, AProgramThatCannotBeGivenItsInputIsEndedAndItsOutcomeIsNotKnown) {
  const std::string ref = made();
  fault("POST /v2/sandboxes/sessions/{session}/fs/write", R"("do": "drop", "when": "before", "times": 0)");
  RunRequest request;
  request.argv = {"sh", "-c", "cat; sleep 1000"};
  request.input = "never";
  const Answer ran = host().run(ref, request);
  EXPECT_EQ(ran.outcome_class, OutcomeClass::kUncertain) << ran.message;
  service_->clear();
  EXPECT_EQ(shell(ref, kSleepers).out, "");
}

TEST_F(ProviderTest, RunsAProgramOfMoreThanOneVariable) {
  const std::string ref = made();
  const std::string source = "print(len('" + std::string(100'000, 'x') + "'))";
  const Answer ran = run(ref, {"python3", "-c", source});
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "100000\n");
}

TEST_F(ProviderTest, TellsASignalFromAnExitCode) {
  const std::string ref = made();
  const Answer signalled = shell(ref, "kill -9 $$");
  ASSERT_TRUE(signalled.done()) << signalled.message;
  EXPECT_EQ(signalled.get<RunResult>().cause, Cause::kSignalled);
  EXPECT_EQ(signalled.get<RunResult>().signal, 9u);
  const Answer exited = shell(ref, "exit 137");
  EXPECT_EQ(exited.get<RunResult>().cause, Cause::kExited);
  EXPECT_EQ(exited.get<RunResult>().exit_code, 137);
}

TEST_F(ProviderTest, EndsAProgramAndWhatItStartedWhenItsTimeIsOver) {
  const std::string ref = made();
  RunRequest request;
  request.argv = {"sh", "-c", "setsid sleep 1000 & echo begun; sleep 1000"};
  request.timeout = std::chrono::milliseconds(300);
  const Answer ran = host().run(ref, request);
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.get<RunResult>().cause, Cause::kWall);
  EXPECT_EQ(ran.out, "begun\n");
  EXPECT_EQ(shell(ref, kSleepers).out, "");
}

TEST_F(ProviderTest, EndsWhatAProgramLeavesRunning) {
  const std::string ref = made();
  const Answer ran = shell(ref, "(setsid sleep 1000 >/dev/null 2>&1 &) ; echo done");
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_EQ(shell(ref, kSleepers).out, "");
}

TEST_F(ProviderTest, CancellingEndsTheProgramItself) {
  const std::string ref = made();
  const berth_op op = host().start_run(ref, {.argv = {"sh", "-c", "echo begun; sleep 1000"}});
  ASSERT_TRUE(host().wait_until(op, [](const auto& call) { return !call.answer.out.empty(); }));
  host().cancel(op);
  EXPECT_OUTCOME(host().wait(op), OutcomeClass::kUncertain, Code::kCancelled);
  EXPECT_EQ(shell(ref, kSleepers).out, "");
}

TEST_F(ProviderTest, ADeadlineEndsTheProgramAsACancellationDoes) {
  const std::string ref = made();
  host().set_deadline(std::chrono::milliseconds(1500));
  const Answer ran = shell(ref, "while :; do echo beat; sleep 0.1; done; sleep 1000");
  host().set_deadline(std::chrono::seconds(0));
  EXPECT_OUTCOME(ran, OutcomeClass::kUncertain, Code::kCancelled);
  EXPECT_EQ(shell(ref, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep '[w]hile :'; true").out, "");
}

TEST_F(ProviderTest, ASlowReaderAndACapLoseNoCount) {
  const std::string ref = made();
  host().behave({.pause_every_bytes = 20'000});
  const Answer slow = run(ref, {"python3", "-c", "import sys; sys.stdout.write('y' * 300000)"});
  ASSERT_TRUE(slow.done()) << slow.message;
  EXPECT_EQ(slow.out, std::string(300'000, 'y'));
  host().behave({.stdout_limit_bytes = 1000});
  const Answer capped = run(ref, {"python3", "-c", "import sys; sys.stdout.write('y' * 300000)"});
  ASSERT_TRUE(capped.done()) << capped.message;
  EXPECT_EQ(capped.out, std::string(1000, 'y'));
  EXPECT_EQ(capped.get<RunResult>().stdout_bytes, 300'000u);
}

TEST_F(ProviderTest, AProgramThatIsNotThereEndsWith127) {
  const Answer ran = run(made(), {"no-such-program"});
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.get<RunResult>().exit_code, 127);
  EXPECT_THAT(ran.err, HasSubstr("no-such-program"));
}

TEST_F(ProviderTest, BothLanguagesRun) {
  CreateRequest request;
  request.languages = {"python", "javascript"};
  const Answer made = host().create("berth-1", request);
  ASSERT_TRUE(made.done()) << made.message;
  EXPECT_EQ(
      run(made.get<Created>().ref, {"node", "-e", "console.log([1, 2].map(x => x * 21))"}).out,
      "[ 21, 42 ]\n");
}

}  // namespace
}  // namespace berth::vercel::tests
