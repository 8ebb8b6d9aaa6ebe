// Programs of this machine as the work of an operation, driven through a provider's run().
#include "berth/child.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "berth/captured_operation.hpp"
#include "berth/testing/fake_host.hpp"
#include "tests/unit/sdk/sample_provider.h"

namespace berth::tests {
namespace {

using berth::testing::Answer;
using berth::testing::FakeHost;

// Runs what it is asked to on this machine; with the word "captured" or "lines" before it, keeps the output.
class Runner : public Sample {
 public:
  RunResult run(Operation& op, std::string_view, const Command& command) override {
    Child child;
    child.argv.assign(command.argv.begin(), command.argv.end());
    child.stdin_source = command.stdin_source;
    child.timeout = command.timeout;
    child.on_stop = [&op] { op.stage("stopping"); };
    const std::string how = child.argv[0];
    if (how != "captured" && how != "lines") return run_child(op, child);
    child.argv.erase(child.argv.begin());
    if (how == "lines") {
      const ChildLines said = run_child_for_lines(op, child);
      op.output(Stream::kStdout, std::to_string(said.exit_code));
      for (const std::string& line : said.lines) op.output(Stream::kStdout, "<" + line + ">");
      return {};
    }
    CapturedOperation captured(op);
    RunResult end = run_child(captured, child);
    op.output(Stream::kStderr, captured.out);
    return end;
  }
};

struct ChildTest : ::testing::Test {
  ChildTest() : host(&provider_entry<Runner>) { host.open(); }
  ~ChildTest() override { EXPECT_TRUE(host.violations().empty()); }

  Answer sh(const std::string& script, std::string input = {}) {
    return host.run("berth-1", {.argv = {"sh", "-c", script}, .input = std::move(input)});
  }

  FakeHost host;
};

TEST_F(ChildTest, AnExitCodeAndASignalAreToldApart) {
  EXPECT_EQ(sh("exit 137").get<RunResult>().exit_code, 137);
  const Answer killed = sh("kill -9 $$");
  EXPECT_EQ(killed.get<RunResult>().cause, Cause::kSignalled);
  EXPECT_EQ(killed.get<RunResult>().signal, 9u);
}

TEST_F(ChildTest, BothStreamsArriveApartAndAreCounted) {
  const Answer answer = sh("echo out; echo error >&2");
  EXPECT_EQ(answer.out, "out\n");
  EXPECT_EQ(answer.err, "error\n");
  EXPECT_EQ(answer.get<RunResult>().stdout_bytes, 4u);
  EXPECT_EQ(answer.get<RunResult>().stderr_bytes, 6u);
}

TEST_F(ChildTest, InputArrivesWholeThoughItTricklesAndComesLate) {
  host.behave({.input_chunk_bytes = 7, .input_arrives_late = true});
  const std::string text(10'000, 'x');
  EXPECT_EQ(sh("cat", text).out, text);
}

TEST_F(ChildTest, InputThatNobodyReadsDoesNotHoldTheEndUp) {
  EXPECT_EQ(sh("exit 3", std::string(1 << 20, 'x')).get<RunResult>().exit_code, 3);
}

TEST_F(ChildTest, ASlowReaderGetsEveryByteInOrder) {
  host.behave({.pause_every_bytes = 1000});
  const Answer answer = sh("seq 1 20000");
  EXPECT_EQ(answer.out.size(), answer.get<RunResult>().stdout_bytes);
  EXPECT_TRUE(answer.out.ends_with("\n19999\n20000\n"));
}

TEST_F(ChildTest, BeyondTheCapBytesAreCountedAndNotSent) {
  host.behave({.stdout_limit_bytes = 100});
  const Answer answer = sh("seq 1 20000; echo end >&2");
  EXPECT_EQ(answer.out.size(), 100u);
  EXPECT_EQ(answer.get<RunResult>().stdout_bytes, 108'894u);
  EXPECT_EQ(answer.err, "end\n");
}

TEST_F(ChildTest, ACancelledProgramEndsWithWhatItStarted) {
  const berth_op op = host.start_run(
      "berth-1", {.argv = {"sh", "-c", "sleep 1000 & echo $!; sleep 1000"}});
  ASSERT_TRUE(host.wait_until(op, [](const auto& call) { return !call.answer.out.empty(); }));
  host.cancel(op);
  const Answer answer = host.wait(op);
  EXPECT_EQ(answer.get<RunResult>().cause, Cause::kCancelled);
  EXPECT_EQ(answer.stages, std::vector<std::string>{"stopping"});
  // It may take its signal a moment later, and be a zombie for as long as whoever inherited it takes.
  const std::string left = answer.out.substr(0, answer.out.size() - 1);
  EXPECT_EQ(sh("for i in $(seq 500); do grep -q '^State:.[SR]' /proc/" + left +
               "/status || exit 7; sleep 0.02; done").get<RunResult>().exit_code, 7);
}

TEST_F(ChildTest, AProgramOutOfTimeEnds) {
  const Answer answer = host.run("berth-1", {.argv = {"sleep", "1000"},
                                             .timeout = std::chrono::milliseconds(1)});
  EXPECT_EQ(answer.get<RunResult>().cause, Cause::kWall);
}

TEST_F(ChildTest, WhatAProgramLeftBehindDoesNotHoldTheEndUp) {
  EXPECT_EQ(sh("sleep 1000 & echo on").out, "on\n");
}

TEST_F(ChildTest, AProgramThatClosedItsStreamsIsWaitedFor) {
  EXPECT_EQ(sh("exec >&- 2>&-; sleep 0.1; exit 5").get<RunResult>().exit_code, 5);
}

TEST_F(ChildTest, WhatCannotBeStartedIsRejected) {
  const Answer answer = host.run("berth-1", {.argv = {"/no/such/program"}});
  EXPECT_EQ(answer.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(answer.code, Code::kNotFound);
}

TEST_F(ChildTest, CapturedOutputStaysHereAndIsBounded) {
  const Answer answer = host.run("berth-1", {.argv = {"captured", "seq", "1", "20000"}});
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err.size(), CapturedOperation::kBytesMax);
}

TEST_F(ChildTest, LinesOfAProgramComeWithWhetherItWasHeardToItsEnd) {
  const auto lines = [this](const char* script) {
    return host.run("berth-1", {.argv = {"lines", "sh", "-c", script}}).out;
  };
  EXPECT_EQ(lines("echo one; echo; printf two; echo error >&2; exit 3"), "3<one><><two>");
  EXPECT_EQ(lines("true"), "0");
  EXPECT_EQ(lines("echo one; kill -9 $$"), "-1<one>");
}

TEST_F(ChildTest, AShellReadsALineBackWordForWord) {
  const std::vector<std::string> words = {"plain", "a b",  "it's", "$HOME", "",     "k=v", "*",   "~",
                                          "-x",    "\\n", "\"",   "`id`",  "a\nb", "#",   "a;b", "\xc3\xa9"};
  std::string read_back;
  for (const std::string& word : words) read_back += word + "|";
  EXPECT_EQ(sh("printf '%s|' " + shell_line(words)).out, read_back);
  EXPECT_EQ(shell_line({"ssh", "-o", "BatchMode=yes", "me@host"}), "ssh -o BatchMode=yes me@host");
  EXPECT_EQ(shell_line({"A=b", "A=b"}), "'A=b' A=b");
  EXPECT_EQ(shell_line({}), "");
}

}  // namespace
}  // namespace berth::tests
