// What a process of its own gives: isolation, replacement, and an end that comes with the host's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <vector>

#include "core/os/fd.h"
#include "core/os/process.h"
#include "tests/unit/plugin/harness.h"

namespace berth::plugin {
namespace {

using registry::Hosting;
using testing::HasSubstr;
using namespace std::chrono_literals;

class Worker : public testing::Test {
 protected:
  void load(const std::function<void(LoadRequest&)>& change = {}) {
    LoadRequest request = harness_.request(Harness::test_plugin("faulty"), Hosting::kWorker);
    request.limits.cancel_grace = 200ms;
    request.limits.drain_bound = 400ms;
    request.limits.restart_backoff = 50ms;
    if (change) change(request);
    auto loaded = harness_.load(std::move(request));
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    loaded_ = std::move(*loaded);
  }
  void TearDown() override {
    if (loaded_) harness_.close(*loaded_);
  }
  Provider& provider() { return loaded_->provider(); }
  PendingPointer<Answer<RunEnd>> begin(std::vector<std::string> argv, TestSink& sink,
                                       Duration deadline = 60s, Cancellation* cancellation = nullptr) {
    return harness_.begin(
        provider().run(within(deadline, cancellation), "ref", command(std::move(argv)), sink));
  }
  Answer<RunEnd> run(std::vector<std::string> argv, TestSink& sink) {
    return harness_.finish(begin(std::move(argv), sink));
  }
  std::string told(std::vector<std::string> argv) {
    TestSink sink;
    const auto answer = run(std::move(argv), sink);
    EXPECT_TRUE(answer.outcome.done()) << answer.outcome.message;
    return sink.text;
  }

  Harness harness_;
  std::unique_ptr<LoadedProvider> loaded_;
};

// True once the process is gone or only waits to be reaped.
bool has_ended(int pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(stat, text)) return true;
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] == 'Z';
}

TEST_F(Worker, RunsInAProcessAndASessionOfItsOwn) {
  load();
  const int pid = std::stoi(told({"pid"}));
  EXPECT_NE(pid, ::getpid());
  EXPECT_EQ(loaded_->worker_pids(), std::vector<int>{pid});
  EXPECT_EQ(::getsid(pid), pid);
  EXPECT_EQ(::getpgid(pid), pid);
}

TEST_F(Worker, SeesOnlyTheDeclaredPartOfTheEnvironment) {
  ::setenv("BERTH_TEST_SECRET", "hunter2", 1);
  ::setenv("BERTH_TEST_OTHER", "not for providers", 1);
  load();
  EXPECT_EQ(told({"env", "BERTH_TEST_SECRET"}), "hunter2");
  EXPECT_EQ(told({"env", "BERTH_TEST_OTHER"}), "(none)");
}

TEST_F(Worker, WhatTheProviderPrintsBecomesLogLines) {
  load();
  testing::internal::CaptureStdout();
  TestSink sink;
  EXPECT_TRUE(run({"print", "printed by a provider"}, sink).outcome.done());
  EXPECT_TRUE(harness_.pump([&] { return harness_.logged("the provider printed: printed by a provider"); }));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(sink.text, "");
}

TEST_F(Worker, AnOperationWhoseWorkerDiesIsUncertainAndTheNextOneHasAnotherWorker) {
  load();
  const std::string first = told({"pid"});
  TestSink sink;
  const auto answer = run({"abort"}, sink);
  EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostWorkerDied);
  EXPECT_THAT(answer.outcome.message, HasSubstr("signal 6"));
  EXPECT_NE(told({"pid"}), first);
  const auto left = run({"exit", "7"}, sink);
  EXPECT_EQ(left.outcome.code, OutcomeCode::kHostWorkerDied);
  EXPECT_THAT(left.outcome.message, HasSubstr("exited with code 7"));
  EXPECT_EQ(told({"echo", "again"}), "again");
}

TEST_F(Worker, KilledFromOutsideIsTheSameAsDying) {
  load();
  TestSink sink;
  auto pending = begin({"hang"}, sink);
  harness_.idle(20ms);
  ASSERT_EQ(loaded_->worker_pids().size(), 1u);
  ::kill(loaded_->worker_pids()[0], SIGKILL);
  EXPECT_EQ(harness_.finish(pending).outcome.code, OutcomeCode::kHostWorkerDied);
  EXPECT_EQ(told({"echo", "again"}), "again");
}

TEST_F(Worker, RestartsWaitLongerWithEachCrashInARow) {
  load([](LoadRequest& request) { request.limits.restart_backoff = 100ms; });
  TestSink sink;
  const auto start = std::chrono::steady_clock::now();
  run({"abort"}, sink);
  run({"abort"}, sink);  // after at least 100 ms
  run({"abort"}, sink);  // after at least 200 ms more
  EXPECT_GE(std::chrono::steady_clock::now() - start, 300ms);
  EXPECT_EQ(told({"echo", "again"}), "again");
}

TEST_F(Worker, AnOperationThatIgnoresItsCancellationIsDetachedAndItsNeighbourIsNot) {
  load();
  const std::string first = told({"pid"});
  Cancellation cancellation;
  TestSink hanging;
  TestSink neighbour;
  auto hang = begin({"hang"}, hanging, 60s, &cancellation);
  auto late = begin({"late", "4000"}, neighbour);
  harness_.idle(20ms);
  cancellation.request(Cancellation::Reason::kCaller);
  const auto answer = harness_.finish(hang);
  EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostDetached);
  // New work goes to a second worker while the first one drains.
  EXPECT_NE(told({"pid"}), first);
  EXPECT_EQ(loaded_->worker_pids().size(), 2u);
  EXPECT_TRUE(harness_.finish(late).outcome.done());
  EXPECT_TRUE(harness_.pump([&] { return loaded_->worker_pids().size() == 1; }));
  EXPECT_TRUE(has_ended(std::stoi(first)));
}

TEST_F(Worker, ADeadlineThatIsIgnoredEndsAsUncertainWithTheDeadlinesCode) {
  load();
  TestSink sink;
  const auto answer = harness_.finish(begin({"hang"}, sink, 100ms));
  EXPECT_EQ(answer.outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(answer.outcome.code, OutcomeCode::kHostDeadline);
}

TEST_F(Worker, ASlotThatDoesNotReturnIsReplacedLikeAnyOther) {
  load();
  TestSink sink;
  EXPECT_EQ(harness_.finish(begin({"block"}, sink, 100ms)).outcome.code, OutcomeCode::kHostDeadline);
  EXPECT_EQ(told({"echo", "again"}), "again");
  EXPECT_TRUE(harness_.pump([&] { return loaded_->worker_pids().size() == 1; }));
}

TEST_F(Worker, AWorkerThatIsStoppedIsReplacedLikeOneThatHangs) {
  load();
  const int first = std::stoi(told({"pid"}));
  ASSERT_EQ(::kill(first, SIGSTOP), 0);
  TestSink sink;
  EXPECT_EQ(harness_.finish(begin({"echo", "x"}, sink, 100ms)).outcome.code, OutcomeCode::kHostDeadline);
  EXPECT_NE(std::stoi(told({"pid"})), first);
  EXPECT_TRUE(harness_.pump([&] { return loaded_->worker_pids().size() == 1; }));
  EXPECT_TRUE(has_ended(first));
}

TEST_F(Worker, AFloodOfPrintedLinesIsBoundedAndSaidToBe) {
  load();
  TestSink sink;
  ASSERT_TRUE(run({"prints", "20000"}, sink).outcome.done());
  EXPECT_TRUE(harness_.pump([&] { return harness_.logged("the provider printed more than 500 lines in a second"); }));
  EXPECT_EQ(told({"echo", "still here"}), "still here");
}

TEST_F(Worker, WhatIsLoggedIsKeptInABoundedFile) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("berth-log-{}", ::getpid());
  load([&](LoadRequest& request) { request.log_file = folder / "faulty.log"; });
  TestSink sink;
  ASSERT_TRUE(run({"log", "something to\nknow"}, sink).outcome.done());
  ASSERT_TRUE(run({"twice"}, sink).outcome.done());
  EXPECT_EQ(told({"echo", "x"}), "x");
  std::string text = os::read_file(folder / "faulty.log", kProviderLogBytesMax).value();
  EXPECT_THAT(text, HasSubstr(" warn something to know\n"));
  EXPECT_THAT(text, HasSubstr(" warn the provider broke its contract: [OP-002]"));
  std::filesystem::remove_all(folder);
}

TEST_F(Worker, AnAnswerThatComesWhileItsWorkerDrainsIsDelivered) {
  load([](LoadRequest& request) { request.limits.drain_bound = 20s; });
  std::vector<LateAnswer> late;
  provider().on_late_answer([&](LateAnswer answer) { late.push_back(std::move(answer)); });
  TestSink sink;
  EXPECT_EQ(harness_.finish(begin({"late", "3000"}, sink, 100ms)).outcome.code,
            OutcomeCode::kHostDeadline);
  ASSERT_TRUE(harness_.pump([&] { return !late.empty(); }));
  EXPECT_EQ(late[0].slot, "run");
  EXPECT_TRUE(late[0].outcome.done());
}

TEST_F(Worker, EndsWhenItsHostIsKilled) {
  os::Pipe pipe = os::make_pipe().value();
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    Harness harness;
    auto loaded = harness.load(harness.request(Harness::test_plugin("faulty"), Hosting::kWorker));
    const std::string pid = loaded ? std::to_string((*loaded)->worker_pids().at(0)) : "none";
    static_cast<void>(os::write_all(pipe.write_end.get(), pid + "\n"));
    for (;;) ::pause();
  }
  pipe.write_end.reset();
  std::string text;
  char byte = 0;
  while (::read(pipe.read_end.get(), &byte, 1) == 1 && byte != '\n') text.push_back(byte);
  ASSERT_NE(text, "none");
  const int worker = std::stoi(text);
  EXPECT_FALSE(has_ended(worker));
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  for (int i = 0; i < 2000 && !has_ended(worker); ++i) ::usleep(5000);
  EXPECT_TRUE(has_ended(worker));
}

TEST_F(Worker, AWorkerThatSpeaksNonsenseIsEnded) {
  const auto script = std::filesystem::temp_directory_path() / fmt::format("berth-nonsense-{}", ::getpid());
  std::ofstream(script) << "#!/bin/sh\nprintf 'this is no frame, whatever it is' >&3\nexec sleep 100\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  LoadRequest request = harness_.request(Harness::test_plugin("faulty"), Hosting::kWorker);
  request.worker = script;
  const auto loaded = harness_.load(request);
  std::filesystem::remove(script);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().message(), HasSubstr("it sent a frame"));
  EXPECT_EQ(footprint().children, 0u);
}

// A sanitizer has an allocator of its own, which sees this itself.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Worker, MemoryThatIsFreedByTheOtherSideEndsAWorkerWithAnAllocatorOfItsOwn) {
  LoadRequest request = harness_.request(Harness::test_plugin("frees_the_hosts_memory"), Hosting::kWorker);
  request.worker = BERTH_FOREIGN_WORKER;
  // Long enough to lie in a block of its own.
  request.state_dir = std::filesystem::temp_directory_path() / std::string(100, 'd');
  const auto loaded = harness_.load(request);
  std::filesystem::remove(request.state_dir);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().message(), HasSubstr("signal 6"));
}
#endif

TEST_F(Worker, AMissingWorkerProgramIsNamed) {
  LoadRequest request = harness_.request(Harness::test_plugin("faulty"), Hosting::kWorker);
  request.worker = "/nowhere/berth-worker";
  const auto loaded = harness_.load(request);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().message(), HasSubstr("cannot start /nowhere/berth-worker"));
}

TEST_F(Worker, ClosingLeavesNothingBehind) {
  const Footprint before = footprint();
  for (int i = 0; i < 3; ++i) {
    load();
    EXPECT_EQ(told({"echo", "x"}), "x");
    harness_.close(*loaded_);
    loaded_.reset();
  }
  EXPECT_EQ(footprint(), before);
}

TEST_F(Worker, ALoadedProviderThatIsDroppedTakesItsWorkerWithIt) {
  load();
  const int pid = loaded_->worker_pids().at(0);
  loaded_.reset();
  EXPECT_TRUE(has_ended(pid));
  EXPECT_EQ(footprint().children, 0u);
}

// The same worker, read by a loop that looks before it sleeps.
class WorkerLookedAt : public Worker {
 protected:
  WorkerLookedAt() { harness_.look(); }

  // So many runs one right after the other, each begun by the end of the last.
  Task<Answer<RunEnd>> in_a_row(int count, TestSink& sink) {
    Answer<RunEnd> answer;
    const std::vector<std::string> argv = {"echo", "x"};
    for (int i = 0; i < count; ++i) {
      Command echo = command(argv);
      answer = co_await provider().run(within(60s), "ref", std::move(echo), sink);
      if (!answer.outcome.done()) break;
    }
    co_return answer;
  }
};

TEST_F(WorkerLookedAt, AnswersOneOperationAfterTheOtherAndManyAtOnce) {
  load();
  TestSink sink;
  EXPECT_TRUE(harness_.await(in_a_row(400, sink)).outcome.done());
  EXPECT_EQ(sink.text, std::string(400, 'x'));
  std::deque<TestSink> sinks(8);
  std::vector<PendingPointer<Answer<RunEnd>>> rows;
  for (TestSink& own : sinks) rows.push_back(harness_.begin(in_a_row(50, own)));
  for (const auto& row : rows) EXPECT_TRUE(harness_.finish(row).outcome.done());
  for (const TestSink& own : sinks) EXPECT_EQ(own.text, std::string(50, 'x'));
}

TEST_F(WorkerLookedAt, IsHeardWhenNoAnswerIsDue) {
  load();
  TestSink sink;
  ASSERT_TRUE(harness_.await(in_a_row(50, sink)).outcome.done());
  ASSERT_EQ(loaded_->worker_pids().size(), 1u);
  const int first = loaded_->worker_pids()[0];
  ::kill(first, SIGKILL);
  EXPECT_TRUE(harness_.pump([&] { return harness_.logged("the provider's worker ended"); }));
  EXPECT_EQ(told({"echo", "again"}), "again");
  EXPECT_NE(loaded_->worker_pids().at(0), first);
}

TEST_F(WorkerLookedAt, ThatDiesUnderAnOperationLeavesItUncertain) {
  load();
  TestSink sink;
  ASSERT_TRUE(harness_.await(in_a_row(50, sink)).outcome.done());
  EXPECT_EQ(run({"abort"}, sink).outcome.code, OutcomeCode::kHostWorkerDied);
  auto pending = begin({"hang"}, sink);
  ASSERT_TRUE(harness_.await(in_a_row(50, sink)).outcome.done());
  ASSERT_EQ(loaded_->worker_pids().size(), 1u);
  ::kill(loaded_->worker_pids()[0], SIGKILL);
  EXPECT_EQ(harness_.finish(pending).outcome.code, OutcomeCode::kHostWorkerDied);
  EXPECT_EQ(told({"echo", "again"}), "again");
}

}  // namespace
}  // namespace berth::plugin
