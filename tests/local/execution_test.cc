// Commands in real sandboxes: how they end and why, what they print, what they may use.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "machine.h"

namespace berth::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Execution, PythonPrints) {
  Machine machine;
  const Ran ran = python(*machine.sandbox(), "print(1)");
  EXPECT_EQ(ran.result.cause, Cause::kExited);
  EXPECT_EQ(ran.result.exit_code, 0);
  EXPECT_EQ(ran.out, "1\n");
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.result.stdout_bytes, 2u);
}

TEST(Execution, NodePrints) {
  Machine machine;
  const Ran ran = run(*machine.sandbox(), {"node", "-e", "console.log(6 * 7)"});
  EXPECT_EQ(ran.result.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "42\n");
}

TEST(Execution, PythonDrawsWithTheBasePackages) {
  Machine machine;
  const Ran ran = python(*machine.sandbox(),
                         "import numpy, pandas, sympy, matplotlib.pyplot as plt\n"
                         "plt.plot(numpy.arange(5))\n"
                         "plt.savefig('chart.png')\n"
                         "print(open('chart.png', 'rb').read(4))");
  EXPECT_EQ(ran.result.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "b'\\x89PNG'\n");
}

TEST(Execution, PythonHasWhatOrdinaryProgramsUse) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const char* const programs[] = {
      "import multiprocessing as m\nwith m.Pool(3) as pool: print(sum(pool.map(abs, range(100))))",
      "import multiprocessing.shared_memory as m\ns = m.SharedMemory(create=True, size=100); s.close(); s.unlink()",
      "import subprocess; assert subprocess.run(['sh', '-c', 'exit 3']).returncode == 3",
      "import asyncio\nasync def f():\n  p = await asyncio.create_subprocess_exec('true'); assert await p.wait() == 0\nasyncio.run(f())",
      "import threading\nt = [threading.Thread(target=print) for _ in range(20)]; [x.start() for x in t]; [x.join() for x in t]",
      "import sqlite3; c = sqlite3.connect('a.db'); c.execute('create table t (x)'); c.commit()",
      "import tempfile, os; f = tempfile.NamedTemporaryFile(); os.fsync(f.fileno())",
      "import ssl; ssl.create_default_context()",
      "import socket, threading\ns = socket.create_server(('localhost', 0)); c = socket.create_connection(s.getsockname())",
      "import time, datetime, zoneinfo, locale; zoneinfo.ZoneInfo('Europe/Berlin'); locale.setlocale(locale.LC_ALL, '')",
      "import os, getpass, pwd, socket; assert getpass.getuser() == 'sandbox'; assert os.path.expanduser('~') == '/workspace'; socket.gethostbyname(socket.gethostname())",
      "import os; assert os.cpu_count() >= 1; assert len(os.sched_getaffinity(0)) >= 1; os.getloadavg()",
      "open('a', 'w').write('x'); import os, shutil; os.rename('a', 'b'); os.link('b', 'c'); os.symlink('b', 'd'); shutil.move('b', '/tmp/b')"};
  for (const char* program : programs) {
    const Ran ran = python(*sandbox, program);
    EXPECT_EQ(ran.result.exit_code, 0) << program << "\n" << ran.err;
  }
}

TEST(Execution, NodeHasWhatOrdinaryProgramsUse) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const char* const programs[] = {
      "const {Worker} = require('worker_threads'); new Worker('1', {eval: true}).on('exit', process.exit)",
      ("const http = require('http'); const s = http.createServer((q, r) => r.end('x')).listen(0, () => "
      "fetch('http://localhost:' + s.address().port).then(r => r.text()).then(t => process.exit(t === 'x' ? 0 : 1)))"),
      "require('child_process').execSync('true')",
      "require('fs').promises.writeFile('/tmp/a', 'x')",
      "require('zlib').gzip('x', (error) => process.exit(error ? 1 : 0))",
      "require('crypto').randomUUID(); require('crypto').pbkdf2('a', 'b', 1, 9, 'sha256', () => {})",
      "if (require('os').cpus().length < 1 || require('os').tmpdir() !== '/tmp') process.exit(1)"};
  for (const char* program : programs) {
    const Ran ran = run(*sandbox, {"node", "-e", program});
    EXPECT_EQ(ran.result.exit_code, 0) << program << "\n" << ran.err;
  }
}

TEST(Execution, StandardStreamsStayApart) {
  Machine machine;
  const Ran ran = shell(*machine.sandbox(), "echo out; echo err >&2; exit 3");
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_EQ(ran.err, "err\n");
  EXPECT_EQ(ran.result.exit_code, 3);
}

TEST(Execution, WallTimeEndsACommandAndAllItStarted) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  Command command;
  command.timeout = milliseconds(2000);
  const Ran ran = shell(*sandbox, "trap '' TERM INT; (setsid sleep 1000 &) ; echo begun; sleep 1000", command);
  EXPECT_EQ(ran.result.cause, Cause::kWall);
  EXPECT_EQ(ran.out, "begun\n");
  const Ran others = python(*sandbox,
                            "import os\n"
                            "print([p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()])");
  EXPECT_EQ(others.out, "[]\n") << "and process 1 is not to be seen";
}

TEST(Execution, TheDiskIsOneLimitForEverythingWritable) {
  Config config = default_config();
  config.limits.disk_bytes = 8 * kMebibyte;
  Machine machine(config);
  const Ran ran = shell(*machine.sandbox(),
                        "head -c 5000000 /dev/zero > /workspace/a && echo first;"
                        "head -c 5000000 /dev/zero > /tmp/b || echo second is refused");
  EXPECT_EQ(ran.out, "first\nsecond is refused\n") << ran.err;
}

TEST(Execution, FilesAreLimitedInNumber) {
  Config config = default_config();
  config.limits.disk_bytes = 8 * kMebibyte;
  Machine machine(config);
  const Ran ran = python(*machine.sandbox(),
                         "import errno\n"
                         "try:\n"
                         "  for i in range(100000): open('/tmp/%d' % i, 'w').close()\n"
                         "except OSError as error: print(errno.errorcode[error.errno], i < 5000)");
  EXPECT_EQ(ran.out, "ENOSPC True\n") << ran.err;
}

TEST(Execution, AForkBombMeetsItsBound) {
  Config config = default_config();
  config.limits.processes = 40;
  Machine machine(config);
  const auto sandbox = machine.sandbox();
  const Ran ran = python(*sandbox,
                         "import os, time, errno\n"
                         "made = 0\n"
                         "try:\n"
                         "  while made < 1000:\n"
                         "    if os.fork() == 0:\n"
                         "      time.sleep(1000)\n"
                         "    made += 1\n"
                         "except OSError as error: print(errno.errorcode[error.errno], made < 45)");
  EXPECT_EQ(ran.out, "EAGAIN True\n") << ran.err;
  EXPECT_EQ(python(*sandbox, "print('still here')").out, "still here\n");
}

TEST(Execution, ABackgroundChildDoesNotHoldTheRunOpen) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const Ran ran = shell(*sandbox, "(while :; do sleep 0.01; echo tick >> beat; done) & sleep 0.2; echo done");
  EXPECT_EQ(ran.result.cause, Cause::kExited);
  EXPECT_EQ(ran.out, "done\n");
  const Ran later = shell(*sandbox, "a=$(wc -l < beat); sleep 0.2; b=$(wc -l < beat); echo $((b - a))");
  EXPECT_EQ(later.out, "0\n") << "what the command left behind still runs";
}

TEST(Execution, ADaemonThatForksTwiceAndIgnoresSignalsIsEndedToo) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const Ran ran = python(*sandbox,
                         "import os, signal, time\n"
                         "if os.fork() == 0:\n"
                         "  os.setsid()\n"
                         "  if os.fork(): os._exit(0)\n"
                         "  for s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\n"
                         "  while True:\n"
                         "    open('beat', 'a').write('x')\n"
                         "    time.sleep(0.01)\n"
                         "while not os.path.exists('beat'): time.sleep(0.01)");
  EXPECT_EQ(ran.result.exit_code, 0) << ran.err;
  const Ran later = shell(*sandbox, "a=$(wc -c < beat); sleep 0.2; b=$(wc -c < beat); echo $((b - a))");
  EXPECT_EQ(later.out, "0\n");
}

long resident_kilobytes() {
  const std::string text = read_small_file("/proc/self/statm").value_or("0 0");
  return std::stol(text.substr(text.find(' '))) * 4;
}

TEST(Execution, AFloodOfBothStreamsIsCountedExactlyAndKeptFlat) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  TestPeer peer;
  peer.cap_bytes = 100'000;
  Command command;
  command.argv = {"/bin/sh", "-c",
                  "head -c 150000000 /dev/zero & head -c 150000001 /dev/zero >&2; wait"};
  const long before = resident_kilobytes();
  const RunResult result = sandbox->run(peer, command);
  EXPECT_EQ(result.cause, Cause::kExited);
  EXPECT_EQ(result.stdout_bytes, 150'000'000u);
  EXPECT_EQ(result.stderr_bytes, 150'000'001u);
  EXPECT_EQ(peer.out.size(), 100'000u);
  EXPECT_EQ(peer.err.size(), 100'000u);
  EXPECT_LT(resident_kilobytes() - before, 16 * 1024);
}

TEST(Execution, APausedReaderStopsTheProgram) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  TestPeer peer;
  peer.pause_at_first = true;
  Command command;
  command.argv = {"/bin/sh", "-c", "head -c 10000000 /dev/zero"};
  std::optional<RunResult> result;
  std::thread runner([&] { result = sandbox->run(peer, command); });
  EXPECT_TRUE(eventually([&] { return peer.taken_bytes > 0; }));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LE(peer.taken_bytes, 2u * BERTH_OUTPUT_CHUNK_MAX_BYTES);
  peer.resume();
  runner.join();
  EXPECT_EQ(result->stdout_bytes, 10'000'000u);
  EXPECT_EQ(peer.out.size(), 10'000'000u);
}

TEST(Execution, InputArrivesWholeAndEnds) {
  Machine machine;
  TestPeer peer;
  for (int i = 0; i < 300'000; ++i) peer.to_read += "line " + std::to_string(i) + "\n";
  Command command;
  command.argv = {"/bin/cat"};
  command.stdin_source = StdinSource::kInput;
  const RunResult result = machine.sandbox()->run(peer, command);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(peer.out, peer.to_read);
}

TEST(Execution, AProgramThatReadsNoInputEndsAllTheSame) {
  Machine machine;
  TestPeer peer;
  peer.to_read.assign(4 * kMebibyte, 'x');
  Command command;
  command.argv = {"/bin/true"};
  command.stdin_source = StdinSource::kInput;
  EXPECT_EQ(machine.sandbox()->run(peer, command).exit_code, 0);
}

TEST(Execution, WithoutInputAProgramSeesItsEnd) {
  Machine machine;
  const Ran ran = python(*machine.sandbox(), "import sys; print(repr(sys.stdin.read()))");
  EXPECT_EQ(ran.out, "''\n");
}

TEST(Execution, CancellationEndsTheCommandAndKeepsTheSandbox) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  TestPeer peer;
  Command command;
  command.argv = {"/bin/sh", "-c", "trap '' TERM; echo begun; while :; do sleep 1; done"};
  std::optional<RunResult> result;
  std::thread runner([&] { result = sandbox->run(peer, command); });
  EXPECT_TRUE(eventually([&] { return peer.taken_bytes > 0; }));
  peer.cancel();
  runner.join();
  EXPECT_EQ(result->cause, Cause::kCancelled);
  EXPECT_EQ(shell(*sandbox, "echo again").out, "again\n");
}

TEST(Execution, DestroyDuringACommandEndsBoth) {
  Machine machine;
  const std::string name = Machine::fresh_name();
  const auto sandbox = machine.allocations().create(name, {});
  TestPeer peer;
  Command command;
  command.argv = {"/bin/sh", "-c", "echo begun; sleep 1000"};
  std::optional<RunResult> result;
  std::thread runner([&] { result = sandbox->run(peer, command); });
  EXPECT_TRUE(eventually([&] { return peer.taken_bytes > 0; }));
  machine.allocations().destroy(name, seconds(20));
  runner.join();
  EXPECT_EQ(result->cause, Cause::kCancelled);
  EXPECT_EQ(machine.allocations().lookup(name).presence, Presence::kAbsentNow);
}

TEST(Execution, CommandsThatComeAtOnceTakeTurnsAndEachTellsItsOwnEnd) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  constexpr int kThreads = 6;
  constexpr int kEach = 10;
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < kThreads; ++i) {
    callers.emplace_back([&, i] {
      for (int round = 0; round < kEach; ++round) {
        const Ran ran = shell(*sandbox, "echo " + std::to_string(i) + "; exit " + std::to_string(10 + i));
        good += ran.result.exit_code == 10 + i && ran.out == std::to_string(i) + "\n" ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, kThreads * kEach);
}

TEST(Execution, WhatAnEarlierCommandLeftSaysNothingInALaterOne) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  EXPECT_EQ(shell(*sandbox, "(sleep 0.1; echo LATE) & echo now").out, "now\n");
  EXPECT_EQ(shell(*sandbox, "sleep 0.3; echo second").out, "second\n");
}

TEST(Execution, EnvironmentValuesArriveByteForByte) {
  Machine machine;
  Command command;
  command.env = {{"V", "a\"b$HOME`id`\\c'd=e\nf"}, {"N", ""}};
  const Ran ran = python(*machine.sandbox(), "import os; print(ascii(os.environ['V']), ascii(os.environ['N']))",
                         std::move(command));
  EXPECT_EQ(ran.out, "'a\"b$HOME`id`\\\\c\\'d=e\\nf' ''\n");
}

TEST(Execution, WhatCannotBeRunIsRefusedByName) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const auto missing = failure_of([&] { run(*sandbox, {"no-such-program"}); });
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->outcome_class(), OutcomeClass::kRejected);
  EXPECT_EQ(missing->code(), Code::kNotFound);
  EXPECT_NE(missing->message().find("no-such-program"), std::string::npos);
  Command command;
  command.cwd = "/nowhere";
  const auto folder = failure_of([&] { run(*sandbox, {"true"}, command); });
  ASSERT_TRUE(folder);
  EXPECT_NE(folder->message().find("/nowhere"), std::string::npos);
  EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n");
}

TEST(Execution, UsageGrowsWithWhatWasUsed) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const Ran first = python(*sandbox, "sum(range(3000000))");
  const Ran second = python(*sandbox, "sum(range(3000000))");
  ASSERT_TRUE(first.result.usage && second.result.usage);
  EXPECT_GT(first.result.usage->cpu_ns, 1'000'000u);
  EXPECT_GT(second.result.usage->cpu_ns, first.result.usage->cpu_ns);
  EXPECT_EQ(second.result.usage->epoch, first.result.usage->epoch);
}

}  // namespace
}  // namespace berth::local
