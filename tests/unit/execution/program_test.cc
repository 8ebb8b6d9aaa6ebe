#include "core/execution/program.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "core/execution/harness.h"
#include "core/lifecycle/system_clock.h"
#include "tests/unit/execution/process_sandbox.h"

namespace berth {
namespace {

using test::run_task;

// Answers as it is told and remembers what it was asked.
class FakeSandbox : public Sandbox {
 public:
  const ProviderIdentity& provider() const override { return identity_; }

  Task<Answer<RunEnd>> run(Command command, OutputSink& output) override {
    commands.push_back(command);
    output.on_resume([] {});
    if (print) print(output);
    co_return run_answer;
  }
  Task<Answer<Nothing>> put_file(PutFile file, InputSource& input) override {
    std::string bytes;
    while (input.read(bytes, 7) == InputSource::State::kData) {
    }
    EXPECT_EQ(bytes.size(), file.size_bytes);
    files[file.path] = bytes;
    co_return Answer<Nothing>{put_outcome, {}};
  }
  Task<Answer<FileGot>> get_file(GetFile, OutputSink& output) override {
    if (get_outcome.done()) output.write(Stream::kFile, records);
    co_return Answer<FileGot>{get_outcome, {0600, records.size()}};
  }
  void add_timing(std::string_view phase, Duration) override { phases.emplace_back(phase); }

  std::function<void(OutputSink&)> print;
  Answer<RunEnd> run_answer{Outcome::make_done(), exited(0)};
  Outcome put_outcome = Outcome::make_done();
  Outcome get_outcome =
      Outcome::make(OutcomeClass::kRejected, OutcomeCode::kNotFound, "there is no such file");
  std::string records;
  std::vector<Command> commands;
  std::map<std::string, std::string> files;
  std::vector<std::string> phases;

  static RunEnd exited(int code) {
    RunEnd end;
    end.cause = Cause::kExited;
    end.exit_code = code;
    return end;
  }

 private:
  ProviderIdentity identity_;
};

struct Ended {
  BodyResult body;
  ExecutionResult result;
};

Ended run(FakeSandbox& sandbox, ExecutionRequest request, ExecutionObserver* observer = nullptr) {
  const SystemClock clock;
  Program program(clock, std::move(request), observer);
  Ended ended;
  ended.body = run_task(program.run(sandbox));
  ended.result = program.take_result();
  return ended;
}

ExecutionRequest python(std::string code) {
  ExecutionRequest request;
  request.code = std::move(code);
  return request;
}

TEST(Program, TheSourceIsSentByteForByteUnderItsOwnName) {
  FakeSandbox sandbox;
  ExecutionRequest request = python("\xEF\xBB\xBF# caf\xE9\r\nprint(1)");
  request.file_name = "table.py";
  request.files = {{"data.csv", "a,b\n"}};
  request.arguments = {"x"};
  const Ended ended = run(sandbox, request);
  EXPECT_EQ(sandbox.files.at("/tmp/work/table.py"), request.code);
  EXPECT_EQ(sandbox.files.at("/tmp/work/data.csv"), "a,b\n");
  ASSERT_EQ(sandbox.commands.size(), 1u);
  EXPECT_EQ(sandbox.commands[0].argv, (std::vector<std::string>{"python3", "/tmp/work/table.py", "x"}));
  EXPECT_EQ(sandbox.commands[0].cwd, "/tmp/work");
  EXPECT_EQ(ended.body.kind, BodyResult::Kind::kCompleted);
  EXPECT_EQ(sandbox.phases, (std::vector<std::string>{"send", "run", "collect"}));
}

TEST(Program, EveryRunHasItsOwnFolderAndNonce) {
  FakeSandbox first;
  FakeSandbox second;
  run(first, python(""));
  run(second, python(""));
  EXPECT_NE(first.commands[0].env, second.commands[0].env);
}

TEST(Program, AFileThatCannotBeSentIsTheProvidersFailure) {
  FakeSandbox sandbox;
  sandbox.put_outcome = Outcome::make(OutcomeClass::kUncertain, OutcomeCode::kHostDeadline, "late");
  const Ended ended = run(sandbox, python("print(1)"));
  EXPECT_EQ(ended.body.kind, BodyResult::Kind::kInfrastructureFailure);
  EXPECT_NE(ended.body.message.find("cannot put '/tmp/"), std::string::npos);
  EXPECT_NE(ended.body.message.find("late"), std::string::npos);
  EXPECT_TRUE(sandbox.commands.empty());
}

TEST(Program, ALostRunIsTheProvidersFailureAndKeepsWhatWasPrinted) {
  FakeSandbox sandbox;
  sandbox.print = [](OutputSink& output) { output.write(Stream::kStdout, "partly"); };
  sandbox.run_answer.outcome =
      Outcome::make(OutcomeClass::kUncertain, OutcomeCode::kHostWorkerDied, "the worker died");
  const Ended ended = run(sandbox, python("print(1)"));
  EXPECT_EQ(ended.body.kind, BodyResult::Kind::kInfrastructureFailure);
  EXPECT_EQ(ended.result.stdout_text.text, "partly");
  EXPECT_FALSE(ended.result.exit_code);
}

TEST(Program, AnEndThatNobodySawIsNotTheProgramsOwn) {
  FakeSandbox sandbox;
  sandbox.run_answer.value.cause = Cause::kLost;
  EXPECT_EQ(run(sandbox, python("")).body.kind, BodyResult::Kind::kInfrastructureFailure);
}

TEST(Program, ExitSignalAndCauseAreNeverFoldedIntoOneAnother) {
  struct Row {
    Cause cause;
    std::optional<int> exit_code;
    std::optional<int> signal;
    ExecutionStatus status;
  };
  for (const Row& row : {Row{Cause::kExited, 0, {}, ExecutionStatus::kCompleted},
                         Row{Cause::kExited, 137, {}, ExecutionStatus::kFailed},
                         Row{Cause::kSignalled, {}, 9, ExecutionStatus::kFailed},
                         Row{Cause::kOom, {}, 9, ExecutionStatus::kFailed},
                         Row{Cause::kWall, {}, 9, ExecutionStatus::kFailed},
                         Row{Cause::kWall, 0, {}, ExecutionStatus::kFailed},
                         Row{Cause::kDisk, 1, {}, ExecutionStatus::kFailed}}) {
    FakeSandbox sandbox;
    sandbox.run_answer.value = RunEnd{};
    sandbox.run_answer.value.cause = row.cause;
    sandbox.run_answer.value.exit_code = row.exit_code;
    sandbox.run_answer.value.signal = row.signal;
    const Ended ended = run(sandbox, python(""));
    EXPECT_EQ(ended.body.kind, BodyResult::Kind::kCompleted);
    EXPECT_EQ(ended.result.cause, row.cause);
    EXPECT_EQ(ended.result.exit_code, row.exit_code);
    EXPECT_EQ(ended.result.signal, row.signal);
    EXPECT_EQ(ended.result.status, row.status) << to_string(row.cause);
  }
}

TEST(Program, ARefusalToReadTheResultFileIsAboutTheFile) {
  for (const OutcomeCode code : {OutcomeCode::kNotFound, OutcomeCode::kInvalidArgument,
                                 OutcomeCode::kQuota, OutcomeCode::kPermission}) {
    FakeSandbox sandbox;
    sandbox.get_outcome = Outcome::make(OutcomeClass::kRejected, code, "no");
    const Ended ended = run(sandbox, python(""));
    EXPECT_EQ(ended.body.kind, BodyResult::Kind::kCompleted) << to_string(code);
    EXPECT_EQ(ended.result.notes.empty(), code == OutcomeCode::kNotFound);
  }
  FakeSandbox sandbox;
  sandbox.get_outcome = Outcome::make(OutcomeClass::kUncertain, OutcomeCode::kHostWorkerDied, "gone");
  EXPECT_EQ(run(sandbox, python("")).body.kind, BodyResult::Kind::kInfrastructureFailure);
}

TEST(Program, AResultFileLargerThanAskedForIsNotRead) {
  FakeSandbox sandbox;
  sandbox.get_outcome = Outcome::make_done();
  sandbox.records.assign(kRecordsBytesMax + 1, 'x');
  const Ended ended = run(sandbox, python(""));
  EXPECT_EQ(ended.body.kind, BodyResult::Kind::kCompleted);
  ASSERT_EQ(ended.result.notes.size(), 1u);
  EXPECT_NE(ended.result.notes[0].find("too large"), std::string::npos);
}

// What was seen, in order.
class Watcher : public ExecutionObserver {
 public:
  void on_started() override { seen.emplace_back("started"); }
  void on_stage(std::string_view stage) override { seen.emplace_back(stage); }
  Flow on_output(const OutputChunk& chunk) override {
    (chunk.stream == Stream::kStdout ? out : err) += chunk.text;
    raw_bytes += chunk.raw_bytes;
    EXPECT_EQ(chunk.raw.size(), chunk.raw_bytes);
    ++chunks;
    return flow;
  }
  void on_resume(std::function<void()> resume) override { resumable = static_cast<bool>(resume); }
  void on_chart(const Chart&) override { seen.emplace_back("chart"); }
  void on_result(const ResultValue&) override { seen.emplace_back("result"); }

  std::vector<std::string> seen;
  std::string out;
  std::string err;
  std::uint64_t raw_bytes = 0;
  int chunks = 0;
  bool resumable = false;
  Flow flow = Flow::kContinue;
};

TEST(Program, OutputIsStreamedInWholeCharactersAndCountedInBytes) {
  FakeSandbox sandbox;
  const std::string text = "\u8A9E\U0001D11E\n";
  sandbox.print = [&](OutputSink& output) {
    for (const char& byte : text) output.write(Stream::kStdout, std::string_view(&byte, 1));
    output.write(Stream::kStderr, "\xE2\x82");
  };
  Watcher watcher;
  run(sandbox, python(""), &watcher);
  EXPECT_EQ(watcher.out, text);
  EXPECT_EQ(watcher.err, "\xEF\xBF\xBD");
  EXPECT_EQ(watcher.raw_bytes, text.size() + 2);
  EXPECT_EQ(watcher.chunks, 4);
  EXPECT_TRUE(watcher.resumable);
  EXPECT_EQ(watcher.seen, (std::vector<std::string>{"started", "run", "collect"}));
}

TEST(Program, AWatcherThatFallsBehindPausesTheProgram) {
  FakeSandbox sandbox;
  OutputSink::Flow flow = OutputSink::Flow::kContinue;
  sandbox.print = [&](OutputSink& output) { flow = output.write(Stream::kStdout, "x"); };
  Watcher watcher;
  watcher.flow = ExecutionObserver::Flow::kPause;
  run(sandbox, python(""), &watcher);
  EXPECT_EQ(flow, OutputSink::Flow::kPause);
}

TEST(Program, AFloodLeavesNoMoreThanIsKept) {
  FakeSandbox sandbox;
  const std::string block(std::size_t{1} << 20, 'f');
  sandbox.print = [&](OutputSink& output) {
    for (int i = 0; i < 1024; ++i) output.write(Stream::kStdout, block);
  };
  const Ended ended = run(sandbox, python(""));
  EXPECT_EQ(ended.result.stdout_text.bytes, std::uint64_t{1} << 30);
  EXPECT_LT(ended.result.stdout_text.text.size(), (std::size_t{1} << 20) + 100);
  EXPECT_EQ(ended.result.stdout_text.omitted_bytes, (std::uint64_t{1} << 30) - (std::uint64_t{1} << 20));
  EXPECT_LT(ended.body.document.size(), std::size_t{2} << 20);
}

TEST(Program, PackagesAreInstalledBeforeTheProgramStarts) {
  FakeSandbox sandbox;
  ExecutionRequest request = python("!pip install -U other\nprint(1)\n");
  request.packages = {"thing==1"};
  run(sandbox, request);
  ASSERT_EQ(sandbox.commands.size(), 2u);
  const std::vector<std::string>& argv = sandbox.commands[0].argv;
  EXPECT_EQ(std::vector<std::string>(argv.begin() + 2, argv.end()),
            (std::vector<std::string>{"direct", "1", "thing==1", "2", "-U", "other"}));
  EXPECT_EQ(sandbox.files.at("/tmp/work/main.py"), "pass\nprint(1)\n");
  EXPECT_EQ(sandbox.phases, (std::vector<std::string>{"send", "install", "run", "collect"}));
}

TEST(Program, AFailedInstallEndsTheRunBeforeTheProgram) {
  FakeSandbox sandbox;
  sandbox.print = [](OutputSink& output) {
    output.write(Stream::kStderr, "ERROR: No matching distribution found for thing\n");
  };
  sandbox.run_answer.value = FakeSandbox::exited(1);
  Watcher watcher;
  const Ended ended = run(sandbox, python("!pip install thing\nprint(1)\n"), &watcher);
  EXPECT_EQ(sandbox.commands.size(), 1u);
  EXPECT_EQ(ended.body.kind, BodyResult::Kind::kCompleted);
  EXPECT_EQ(ended.result.status, ExecutionStatus::kFailed);
  EXPECT_EQ(ended.result.exit_code, 1);
  ASSERT_TRUE(ended.result.error);
  EXPECT_EQ(ended.result.error->name, "PackageInstallError");
  EXPECT_NE(ended.result.message.find("No matching distribution found for thing"), std::string::npos);
  EXPECT_NE(ended.result.message.find("no network"), std::string::npos);
  EXPECT_NE(watcher.err.find("thing"), std::string::npos);
}

TEST(Harness, PythonLaterPartsAreCarriedAsText) {
  const std::string text = harness::python_harness();
  EXPECT_EQ(text.find("@BERTH_"), std::string::npos);
  EXPECT_NE(text.find("def report_chart"), std::string::npos);
  EXPECT_NE(text.find("def patch_figure"), std::string::npos);
}

TEST(ProcessRun, StreamedTextAndTheKeptTextAreTheSame) {
  Watcher watcher;
  ExecutionRequest request = python("print('a\u00e9')\nresult = {'k': 1}\n");
  const test::ProgramRun run = test::run_program(request, &watcher);
  EXPECT_EQ(watcher.out, "a\u00e9\n{'k': 1}\n");
  EXPECT_EQ(run.result.stdout_text.text, watcher.out);
  EXPECT_EQ(run.result.stdout_text.bytes, watcher.out.size());
  EXPECT_EQ(watcher.seen.back(), "result");
}

}  // namespace
}  // namespace berth
