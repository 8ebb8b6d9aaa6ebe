// Why a command ended, told from evidence: for every cause a program that ends so, and programs that only
// look as if they had.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "machine.h"
#include "process_handle.h"

namespace berth::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct End {
  const char* what;
  const char* program;  // for the shell; python programs start with "python:"
  Cause cause;
  int code = -1;  // the exit code, or the signal of kSignalled
  Limits limits = {};
  milliseconds timeout{60'000};
};

Limits cpu_limit() {
  Limits limits;
  limits.cpu_time = milliseconds(300);
  return limits;
}

Limits much_cpu() {
  Limits limits;
  limits.cpu_time = seconds(100);
  return limits;
}

Limits file_limit() {
  Limits limits;
  limits.file_size_bytes = kMebibyte;
  return limits;
}

constexpr char kFillDisk[] = "head -c 9000000 /dev/zero > full 2> /dev/null; ";

const End kEnds[] = {
    {"an exit", "exit 3", Cause::kExited, 3},
    {"an exit with the number of a shell's kill", "exit 137", Cause::kExited, 137},
    {"an exit with the number of timeout(1)", "timeout 0.01 sleep 10", Cause::kExited, 124},
    {"an exit with the number of a CPU limit", "exit 152", Cause::kExited, 152},
    {"an exit with the number of a file limit", "exit 153", Cause::kExited, 153},
    {"a child that kills itself under a shell", "sh -c 'kill -9 $$'; exit $?", Cause::kExited, 137},
    {"a child out of memory whose parent goes on", "python3 -c 'a = bytearray(512 << 20)'; exit 0",
     Cause::kExited, 0},
    {"a child out of memory whose parent fails otherwise",
     "python3 -c 'a = bytearray(512 << 20)'; exit 9", Cause::kExited, 9},
    {"memory refused to a program that can cope",
     "python:import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
     "try: a = bytearray(1 << 30)\nexcept MemoryError: raise SystemExit(5)", Cause::kExited, 5},
    {"a full disk that a program copes with", "head -c 9000000 /dev/zero > full 2> /dev/null; rm full; exit 0",
     Cause::kExited, 0},
    {"a full disk that a program gives up on", "exec 2> /dev/null; head -c 9000000 /dev/zero > full || exit 1",
     Cause::kExited, 1},
    {"a file over its size that a program copes with", "trap '' XFSZ; head -c 5000000 /dev/zero > big 2> /dev/null; exit 4",
     Cause::kExited, 4, file_limit()},
    {"a program that outlives its children's CPU time",
     "python3 -c 'while True: pass' & sleep 0.05; kill -XCPU $!; wait $!; exit 7", Cause::kExited, 7, much_cpu()},

    {"a kill by itself", "kill -9 $$", Cause::kSignalled, SIGKILL},
    {"a crash", "python:import ctypes; ctypes.string_at(0)", Cause::kSignalled, SIGSEGV},
    {"a termination by itself", "kill $$", Cause::kSignalled, SIGTERM},
    {"a CPU signal by itself", "kill -XCPU $$", Cause::kSignalled, SIGXCPU},
    {"a CPU signal by itself long before the limit", "kill -XCPU $$", Cause::kSignalled, SIGXCPU, much_cpu()},
    {"a kill by itself long before the limit", "kill -9 $$", Cause::kSignalled, SIGKILL, much_cpu()},
    {"a file signal by itself", "kill -XFSZ $$", Cause::kSignalled, SIGXFSZ},
    {"a bus error by itself", "kill -BUS $$", Cause::kSignalled, SIGBUS},
    {"a bus error behind the end of a file",
     "python:import mmap\nf = open('f', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096)\n"
     "f.truncate(0); m[0] = 1", Cause::kSignalled, SIGBUS},
    {"a write to a pipe nobody reads",
     "python:import os, signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nr, w = os.pipe(); os.close(r); os.write(w, b'x')",
     Cause::kSignalled, SIGPIPE},

    {"memory used up", "python:a = bytearray(512 << 20)", Cause::kOom},
    {"memory used up under a shell that says so", "python3 -c 'a = bytearray(512 << 20)'; exit $?", Cause::kOom},
    {"memory used up by what is written to /dev/shm and read back",
     "python:import mmap; m = mmap.mmap(-1, 300 << 20)\nfor i in range(0, 300 << 20, 4096): m[i] = 1", Cause::kOom},

    {"time used up", "sleep 1000", Cause::kWall, -1, {}, milliseconds(200)},
    {"time used up by one that ignores signals", "trap '' TERM INT HUP XCPU; sleep 1000 & wait", Cause::kWall, -1, {},
     milliseconds(200)},

    {"CPU time used up", "python:while True: pass", Cause::kCpu, -1, cpu_limit()},
    {"CPU time used up by the whole tree", "while :; do :; done & while :; do :; done", Cause::kCpu, -1, cpu_limit()},
    {"CPU time used up by one that ignores the signal", "trap '' XCPU; while :; do :; done", Cause::kCpu, -1,
     cpu_limit()},

    {"output without end", "exec yes", Cause::kOutput},
    {"errors without end", "exec yes >&2", Cause::kOutput},

    {"a file over its size", "exec head -c 5000000 /dev/zero > big", Cause::kDisk, -1, file_limit()},
    {"a mapped file that finds no space",
     "python:import mmap\nf = open('f', 'w+b'); f.truncate(16 << 20); m = mmap.mmap(f.fileno(), 16 << 20)\n"
     "for i in range(0, 16 << 20, 4096): m[i] = 1", Cause::kDisk},
};

constexpr std::string_view kPython = "python:";

bool is_python(const End& end) { return std::string_view(end.program).starts_with(kPython); }

Ran run_end(Sandbox& sandbox, const End& end) {
  Command command;
  command.limits = end.limits;
  command.timeout = end.timeout;
  if (is_python(end)) return python(sandbox, end.program + kPython.size(), std::move(command));
  return shell(sandbox, end.program, std::move(command));
}

// As the host has a file run, which is what a forked interpreter answers.
Ran run_end_as_file(Sandbox& sandbox, const End& end) {
  TestPeer peer;
  peer.to_read = end.program + kPython.size();
  PutFile file;
  file.path = "/workspace/main.py";
  file.size_bytes = peer.to_read.size();
  sandbox.put_file(peer, file);
  Command command;
  command.limits = end.limits;
  command.timeout = end.timeout;
  command.env = {{"PYTHONUNBUFFERED", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  return run(sandbox, {"python3", "/workspace/main.py"}, std::move(command));
}

void expect_end(const RunResult& result, const End& end, const std::string& said) {
  EXPECT_EQ(result.cause, end.cause) << end.what << "\n" << said.substr(0, 1000);
  EXPECT_EQ(result.exit_code, end.cause == Cause::kExited ? end.code : -1) << end.what;
  if (end.cause == Cause::kSignalled) {
    EXPECT_EQ(result.signal, static_cast<std::uint32_t>(end.code)) << end.what;
  }
}

Config small_config() {
  Config config = default_config();
  config.limits.memory_bytes = 64 * kMebibyte;
  config.limits.disk_bytes = 8 * kMebibyte;
  config.output_kill_bytes = 4 * kMebibyte;
  return config;
}

TEST(Ends, EveryCauseIsToldFromItsLookalikes) {
  Machine machine(small_config());
  const auto sandbox = machine.sandbox();
  for (const End& end : kEnds) {
    const Ran ran = run_end(*sandbox, end);
    expect_end(ran.result, end, ran.err);
    EXPECT_EQ(shell(*sandbox, "rm -rf /workspace/* /tmp/* /dev/shm/*; echo fine").out, "fine\n") << end.what;
  }
}

TEST(Ends, AForkedInterpreterIsToldByTheSameEvidence) {
  Config config = small_config();
  config.startup = StartupChoice::kTemplate;
  config.templates[index_of(Interpreter::kNode)] = false;
  Machine machine(config);
  for (const End& end : kEnds) {
    if (!is_python(end)) continue;
    const auto sandbox = machine.sandbox();
    const Ran ran = run_end_as_file(*sandbox, end);
    expect_end(ran.result, end, ran.err);
    EXPECT_EQ(sandbox->forked_runs(), 1u) << machine.allocations().pool().describe();
  }
}

TEST(Ends, AFullDiskIsNoEvidenceForASignalThatHasNothingToDoWithIt) {
  Machine machine(small_config());
  const auto sandbox = machine.sandbox();
  EXPECT_EQ(shell(*sandbox, std::string(kFillDisk) + "kill -9 $$").result.cause, Cause::kSignalled);
  EXPECT_EQ(shell(*sandbox, "exit 1").result.cause, Cause::kExited);
}

TEST(Ends, AnEarlierKillIsNoEvidenceForALaterOne) {
  Machine machine(small_config());
  const auto sandbox = machine.sandbox();
  EXPECT_EQ(python(*sandbox, "a = bytearray(512 << 20)").result.cause, Cause::kOom);
  EXPECT_EQ(shell(*sandbox, "kill -9 $$").result.cause, Cause::kSignalled);
  EXPECT_EQ(shell(*sandbox, "exit 137").result.cause, Cause::kExited);
}

// A command that waits to be ended from outside, and what it ended as.
class Waiting {
 public:
  explicit Waiting(Sandbox& sandbox) : runner_([this, &sandbox] { run(sandbox); }) {
    EXPECT_TRUE(eventually([this] { return peer_.taken_bytes > 0; }));
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  TestPeer& peer() { return peer_; }
  RunResult end() {
    runner_.join();
    return result_;
  }

 private:
  void run(Sandbox& sandbox) {
    Command command;
    command.argv = {"/bin/sh", "-c", "echo begun; sleep 1000"};
    result_ = sandbox.run(peer_, command);
  }

  TestPeer peer_;
  RunResult result_;
  std::thread runner_;
};

TEST(Ends, ACancelledOneIsCancelledAndADestroyedOneToo) {
  Machine machine(small_config());
  const auto sandbox = machine.sandbox();
  Waiting cancelled(*sandbox);
  cancelled.peer().cancel();
  EXPECT_EQ(cancelled.end().cause, Cause::kCancelled);
  Waiting destroyed(*sandbox);
  sandbox->end();
  EXPECT_EQ(destroyed.end().cause, Cause::kCancelled);
}

TEST(Ends, OneWhoseInitDiesIsLostAndNothingIsSaidAboutHowItEnded) {
  Machine machine(small_config());
  const auto sandbox = machine.sandbox();
  Waiting lost(*sandbox);
  const auto process = StateStore(machine.state_dir()).process(sandbox->name());
  ASSERT_TRUE(process);
  kill_process(open_process(*process));
  const RunResult result = lost.end();
  EXPECT_EQ(result.cause, Cause::kLost);
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.signal, 0u);
}

}  // namespace
}  // namespace berth::local
