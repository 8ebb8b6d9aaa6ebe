// Sandboxes whose interpreter was forked from a template: it is Python as any other, its walls are those
// of any other, and nothing of one is in another.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "core/execution/harness.h"
#include "machine.h"

namespace berth::local {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMebibyte = 1u << 20;

Config template_config() {
  Config config = default_config();
  config.startup = StartupChoice::kTemplate;
  config.templates[index_of(Interpreter::kNode)] = false;
  config.ready_least = 1;
  config.ready_most = 2;
  return config;
}

// One template for most of these tests: starting it is what they are not about.
std::unique_ptr<Machine>& shared() {
  static std::unique_ptr<Machine> machine;
  return machine;
}

Machine& machine() {
  if (!shared()) shared() = std::make_unique<Machine>(template_config());
  return *shared();
}

class AtTheEnd : public testing::Environment {
 public:
  void TearDown() override { shared().reset(); }
};
[[maybe_unused]] const auto* const kAtTheEnd = testing::AddGlobalTestEnvironment(new AtTheEnd);

Machine& cold_machine() {
  static Machine machine([] {
    Config config = default_config();
    config.startup = StartupChoice::kCold;
    return config;
  }());
  return machine;
}

void put(Sandbox& sandbox, std::string_view path, std::string_view contents) {
  TestPeer peer;
  peer.to_read = contents;
  sandbox.put_file(peer, PutFile{.path = path, .size_bytes = contents.size()});
}

// As the host runs a program: a file, unbuffered.
Ran run_file(Sandbox& sandbox, const std::string& source, Command command = {},
             std::vector<std::string> arguments = {}) {
  put(sandbox, "/workspace/main.py", source);
  command.env.insert(command.env.end(), {{"PYTHONUNBUFFERED", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}});
  std::vector<std::string> argv{"python3", "/workspace/main.py"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run(sandbox, std::move(argv), std::move(command));
}

Ran cold(const std::string& source, Command command = {}, std::vector<std::string> arguments = {}) {
  return run_file(*cold_machine().sandbox(), source, std::move(command), std::move(arguments));
}

// In a fresh sandbox, by a forked interpreter.
Ran forked(const std::string& source, Command command = {}, std::vector<std::string> arguments = {}) {
  const auto sandbox = machine().sandbox();
  EXPECT_EQ(sandbox->startup(), Startup::kTemplate) << machine().allocations().pool().describe();
  const Ran ran = run_file(*sandbox, source, std::move(command), std::move(arguments));
  EXPECT_EQ(sandbox->forked_runs(), 1u);
  return ran;
}

// The same program says and does the same both ways.
void expect_same(const std::string& source, Command command = {}, std::vector<std::string> arguments = {}) {
  const Ran expected = cold(source, command, arguments);
  const Ran ran = forked(source, command, arguments);
  EXPECT_EQ(ran.out, expected.out) << source;
  EXPECT_EQ(ran.err, expected.err) << source;
  EXPECT_EQ(ran.result.exit_code, expected.result.exit_code) << source;
  EXPECT_EQ(ran.result.signal, expected.result.signal) << source;
  EXPECT_EQ(ran.result.cause, expected.result.cause) << source;
}

TEST(Template, AProgramSeesTheCommandItIs) {
  Command command;
  command.env = {{"COLOUR", "gr\xc3\xbcn"}};
  command.cwd = "/tmp";
  expect_same(
      "import os, sys\n"
      "print(sys.argv, sys.orig_argv, __name__, __file__, sys.path, os.getcwd(), sys.executable)\n"
      "print(sorted(os.environ.items()), os.environ['COLOUR'], sorted(vars()))\n"
      "print(open('/proc/self/cmdline').read().split('\\0')[:4], open('/proc/self/comm').read())\n"
      "print(sys.flags, sys.stdout, sys.stdin, sys.stderr, sys.stdout.line_buffering, os.umask(0))\n"
      "print(sys._getframe().f_back, sorted(sys.modules), os.getpid() == int(os.readlink('/proc/self')))\n"
      "import signal; print([signal.getsignal(n) for n in range(1, 32)])\n"
      "print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid(), sorted(os.listdir('/proc/self/fd')))\n",
      command, {"a", "b c"});
}

TEST(Template, AProgramEndsAsItWould) {
  expect_same("import sys; sys.exit(7)");
  expect_same("raise SystemExit('said at the end')");
  expect_same("from sys import exit\nprint(exit, exit.__name__, exit.__module__)\nexit('said')");
  expect_same("class Quit(SystemExit):\n    code = 5\nraise Quit");
  expect_same("try:\n    raise SystemExit(3)\nexcept SystemExit as error:\n    print(error.code, error.args)");
  expect_same("import sys\ntry:\n    sys.exit(-1)\nexcept SystemExit as error:\n    raise");
  expect_same("import sys; sys.exit()");
  expect_same("import sys; sys.exit(1 << 70)");
  expect_same("import sys; sys.exit(True)");
  expect_same("raise KeyboardInterrupt");
  expect_same("import sys, threading; threading.Thread(target=sys.exit, args=(9,)).start()");
  expect_same("import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'exit(4)']).returncode)");
  expect_same("import os\nif os.fork() == 0: raise SystemExit(6)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))");
  expect_same("open('/workspace/own.py', 'w').write('class A:\\n  def __del__(s): print(1)\\na = A()')\nimport own");
  expect_same("import ctypes; ctypes.CDLL(None).printf(b'buffered')");
  expect_same("def f(x):\n    return 1 / x\n\nf(0)\n");
  expect_same("print('before'\n");
  expect_same("import os; os.kill(os.getpid(), 15)");
  expect_same("import os; os._exit(3)");
  expect_same("import os, signal; os.kill(os.getpid(), signal.SIGINT)");
  expect_same("import atexit; atexit.register(print, 'last'); f = open('/tmp/x', 'w'); f.write('kept')");
  const auto sandbox = machine().sandbox();
  run_file(*sandbox, "f = open('/tmp/x', 'w')\nf.write('kept')");
  EXPECT_EQ(sandbox->forked_runs(), 1u);
  EXPECT_EQ(shell(*sandbox, "cat /tmp/x").out, "kept");
  expect_same("class A:\n    def __del__(self): print('gone')\n\na = A()");
  expect_same("import threading, time\nthreading.Thread(target=lambda: (time.sleep(.05), print('late'))).start()");
  expect_same("import ctypes; ctypes.string_at(0)");
}

TEST(Template, ItsInputIsTheCommands) {
  const auto sandbox = machine().sandbox();
  put(*sandbox, "/workspace/main.py", "import sys\nprint(input(), sys.stdin.read().upper())");
  TestPeer peer;
  peer.to_read = "one\ntwo";
  Command command;
  command.argv = {"python3", "/workspace/main.py"};
  command.env = {{"PYTHONUNBUFFERED", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  command.stdin_source = StdinSource::kInput;
  EXPECT_EQ(sandbox->run(peer, command).exit_code, 0);
  EXPECT_EQ(peer.out, "one TWO\n");
  EXPECT_EQ(sandbox->forked_runs(), 1u);
}

TEST(Template, ImportsAreThereAndFilesOfTheProgramsOwnWinAsEver) {
  EXPECT_EQ(forked("import sys\nprint('numpy' in sys.modules)\nimport pandas\n"
                   "print('numpy' in sys.modules, pandas.DataFrame({'a': [1]}).a.sum())\n"
                   "import numpy.linalg, matplotlib.pyplot as plt\n"
                   "plt.plot([1, 2]); plt.savefig('x.png'); print(open('x.png', 'rb').read(4))\n"
                   "import json.decoder, dataclasses, typing\n"
                   "print(typing.get_type_hints(pandas.Timestamp.now) is not None)\n")
                .out,
            "False\nTrue 1\nb'\\x89PNG'\nTrue\n");
  const auto sandbox = machine().sandbox();
  put(*sandbox, "/workspace/pandas.py", "name = 'mine'");
  EXPECT_EQ(run_file(*sandbox, "import pandas, numpy\nprint(pandas.name, numpy.arange(2))").out,
            "mine [0 1]\n");
}

TEST(Template, NothingDrawnAtRandomRepeats) {
  const std::string source =
      "import random, uuid, secrets, ssl, tempfile, os, numpy, multiprocessing\n"
      "print(random.random())\nprint(uuid.uuid4())\nprint(uuid.uuid1())\nprint(secrets.token_hex())\n"
      "print(ssl.RAND_bytes(8).hex())\nprint(os.path.basename(tempfile.mktemp()))\n"
      "print(numpy.random.random())\nprint(numpy.random.default_rng().random())\n"
      "print(numpy.random.RandomState().random_sample())\nprint(random.Random().random())\n"
      "print(multiprocessing.current_process().authkey.hex())\nprint(os.urandom(8).hex())\n";
  std::set<std::string> seen;
  constexpr std::size_t kSandboxes = 4;
  constexpr std::size_t kDraws = 12;
  for (std::size_t i = 0; i < kSandboxes; ++i) {
    const Ran ran = forked(source);
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) seen.insert(line);
    EXPECT_EQ(ran.err, "");
  }
  EXPECT_EQ(seen.size(), kSandboxes * kDraws);
}

// The host's harness beside a program, and what it leaves.
std::string left_by(Sandbox& sandbox, const std::string& source) {
  put(sandbox, "/tmp/.run/sitecustomize.py", harness::python_harness());
  Command command;
  command.env = {{"PYTHONPATH", "/tmp/.run"}, {"BERTH_RUN", "nonce:/tmp/.run/result"}, {"MPLBACKEND", "Agg"}};
  const Ran ran = run_file(sandbox, source, command);
  TestPeer peer;
  sandbox.get_file(peer, GetFile{.path = "/tmp/.run/result", .max_bytes = 8 * kMebibyte});
  return ran.out + ran.err + peer.file;
}

TEST(Template, TheHarnessFindsResultsChartsAndErrors) {
  const char* const programs[] = {
      "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('one')\nplt.show()\n"
      "plt.figure()\nplt.bar([1], [2])\nresult = {'a': 1}\n",
      "import pandas as pd\nframe = pd.DataFrame({'x': [1, 2]})\nframe.plot()\nresult = frame\n",
      "import os\nassert 'BERTH_RUN' not in os.environ and 'PYTHONPATH' not in os.environ\n"
      "def f(): raise ValueError('told')\nf()\n"};
  for (const char* program : programs) {
    const std::string expected = left_by(*cold_machine().sandbox(), program);
    const auto sandbox = machine().sandbox();
    EXPECT_TRUE(left_by(*sandbox, program) == expected) << program << "\n" << expected.substr(0, 400);
    EXPECT_EQ(sandbox->forked_runs(), 1u);
  }
}

// Which file the harness says it is of, which is a sandbox's own unless the template has it ahead.
std::string harness_is_of(const std::string& harness) {
  const auto sandbox = machine().sandbox();
  put(*sandbox, "/tmp/.run/sitecustomize.py", harness);
  Command command;
  command.env = {{"PYTHONPATH", "/tmp/.run"}, {"BERTH_RUN", "nonce:/tmp/.run/result"}};
  const Ran ran = run_file(*sandbox,
                           "import sys\nprint(type(sys.meta_path[0]).find_spec.__code__.co_filename)\n"
                           "result = 1\n", command);
  EXPECT_EQ(sandbox->forked_runs(), 1u);
  TestPeer peer;
  sandbox->get_file(peer, GetFile{.path = "/tmp/.run/result", .max_bytes = kMebibyte});
  EXPECT_NE(peer.file.find("berth-result 1 nonce"), std::string::npos);
  return ran.out + ran.err;
}

TEST(Template, TheHarnessOfThisBuildIsRunAheadAndAnyOtherIsReadAsItIs) {
  EXPECT_EQ(harness_is_of(harness::python_harness()), "sitecustomize.py\n");
  EXPECT_EQ(harness_is_of(harness::python_harness() + "\n"), "/tmp/.run/sitecustomize.py\n");
}

// The memory all forks of a template share is a file; one that could be written to would be a way from
// each into all others.
TEST(Template, NobodyWritesToTheFileBehindItsMemory) {
  const std::string source =
      "import os\n"
      "spans = [line.split()[0] for line in open('/proc/self/maps') if 'memfd:berth-template' in line]\n"
      "print(len(spans) > 0)\n"
      "for span in spans:\n"
      "    for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY):\n"
      "        try:\n"
      "            print('opened', os.open('/proc/self/map_files/' + span, flags))\n"
      "        except OSError as error:\n"
      "            pass\n"
      "print([fd for fd in os.listdir('/proc/self/fd') if int(fd) > 3])\n";
  EXPECT_EQ(forked(source).out, "True\n[]\n");
}

// What a program can see of its walls. Numbers that differ from sandbox to sandbox are left out.
constexpr char kWalls[] = R"(
import os, re, resource
for line in open('/proc/self/status'):
    name, _, value = line.partition(':')
    if name in ('Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp') or name.startswith('Cap'):
        print(name, value.strip())
for line in open('/proc/self/mountinfo'):
    fields = line.split()
    root = '' if fields[4] == '/' else fields[3]
    options = re.sub('(uid|gid)=[0-9]+', r'\1', line.split(' - ')[1].strip())
    print('mount', root, fields[4], fields[5], options)
for name in sorted(dir(resource)):
    if name.startswith('RLIMIT_'):
        print(name, resource.getrlimit(getattr(resource, name)))
print('cgroup', [line.strip().rpartition(':')[2] for line in open('/proc/self/cgroup')])
print('maps', open('/proc/self/uid_map').read().split()[::2], open('/proc/self/setgroups').read())
print('oom', open('/proc/self/oom_score_adj').read())
print('links', sorted(os.listdir('/sys')) if os.path.exists('/sys') else 'none')
print('net', open('/proc/net/dev').read().count(':'), os.sched_getaffinity(0), os.nice(0))
print('processes', sorted(name for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in range(0, 460):
    if number in (165, 272, 308, 161, 155, 170, 101, 298, 321):
        print('call', number, libc.syscall(number, 0, 0, 0, 0), ctypes.get_errno())
print('dumpable', libc.prctl(3), 'securebits', libc.prctl(27), 'keepcaps', libc.prctl(7))
try:
    open('/usr/x', 'w')
except OSError as error:
    print(error)
)";

TEST(Template, TheWallsAreThoseOfAColdSandbox) {
  const Ran expected = cold(kWalls);
  EXPECT_EQ(expected.err, "");
  EXPECT_NE(expected.out.find("NoNewPrivs 1"), std::string::npos);
  EXPECT_NE(expected.out.find("Seccomp 2"), std::string::npos);
  EXPECT_EQ(forked(kWalls).out, expected.out);

  Config warm = default_config();
  warm.startup = StartupChoice::kWarm;
  Machine ready(warm);
  const auto sandbox = ready.sandbox();
  EXPECT_EQ(sandbox->startup(), Startup::kWarm);
  EXPECT_EQ(run_file(*sandbox, kWalls).out, expected.out);
  EXPECT_EQ(StateStore(ready.state_dir()).read(sandbox->name())->startup, "warm");
}

TEST(Template, EachHasNamespacesControlGroupsAndAnIdentityOfItsOwn) {
  const std::string source =
      "import os\nfor name in sorted(os.listdir('/proc/self/ns')): print(os.readlink('/proc/self/ns/' + name))\n"
      "print(open('/proc/sys/kernel/hostname').read())";
  std::set<std::string> seen;
  std::size_t lines_in_all = 0;
  for (int i = 0; i < 3; ++i) {
    std::istringstream lines(forked(source).out);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty()) continue;
      ++lines_in_all;
      seen.insert(line);
    }
  }
  // Two of them are listed twice: what children get is what the program has.
  EXPECT_EQ(lines_in_all, 3u * 11u);
  EXPECT_EQ(seen.size(), 3u * 9u);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/ns")) {
    EXPECT_FALSE(seen.contains(std::filesystem::read_symlink(entry.path()))) << entry.path();
  }
  const auto one = machine().sandbox();
  const auto two = machine().sandbox();
  const StateStore store(machine().state_dir());
  EXPECT_NE(store.read(one->name())->cgroup_folders, store.read(two->name())->cgroup_folders);
  if (geteuid() == 0) {
    EXPECT_NE(store.read(one->name())->outer_id, store.read(two->name())->outer_id);
  }
  EXPECT_EQ(store.read(one->name())->startup, "template");
}

TEST(Template, LimitsAreThoseOfTheCreateThatClaimsIt) {
  CreateSpec spec;
  spec.limits.memory_bytes = 2048 * kMebibyte;
  spec.limits.processes = 20;
  Command command;
  command.limits = Limits{};
  command.limits->open_files = 64;
  const auto sandbox = machine().sandbox(spec);
  const Ran ran = run_file(*sandbox,
                           "import resource, os\n"
                           "a = bytearray(1200 << 20); print(len(a) >> 20)\n"
                           "print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_NPROC))",
                           command);
  EXPECT_EQ(ran.out, "1200\n(64, 64) (20, 20)\n") << ran.err;
  EXPECT_EQ(sandbox->forked_runs(), 1u);

  CreateSpec small;
  small.limits.memory_bytes = 96 * kMebibyte;
  EXPECT_EQ(run_file(*machine().sandbox(small), "a = bytearray(512 << 20)").result.cause, Cause::kOom);
  CreateSpec roomy;
  roomy.limits.disk_bytes = 700 * kMebibyte;
  const auto other = machine().sandbox(roomy);
  EXPECT_EQ(run_file(*other, "import os; s = os.statvfs('/tmp'); print(s.f_blocks * s.f_frsize >> 20)").out,
            "700\n");
}

TEST(Template, WhatItCannotBeRunsInTheOrdinaryWay) {
  const auto plain = machine().sandbox();
  EXPECT_EQ(python(*plain, "print(2)").out, "2\n");
  EXPECT_EQ(plain->forked_runs(), 0u);
  EXPECT_EQ(run_file(*plain, "print(3)").out, "3\n") << "the interpreter that waited is gone by now";
  EXPECT_EQ(plain->forked_runs(), 0u);
  Command command;
  command.env = {{"PYTHONHASHSEED", "1"}, {"PYTHONOPTIMIZE", "1"}};
  EXPECT_EQ(run_file(*machine().sandbox(), "import sys; print(sys.flags.optimize, hash('a'))", command).out,
            cold("import sys; print(sys.flags.optimize, hash('a'))", command).out);
  const auto missing = machine().sandbox();
  Command nowhere;
  nowhere.cwd = "/nowhere";
  const auto refusal = failure_of([&] { run_file(*missing, "print(4)", nowhere); });
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message().find("/nowhere"), std::string::npos);
  EXPECT_EQ(run_file(*missing, "print(5)").out, "5\n");
}

}  // namespace
}  // namespace berth::local
