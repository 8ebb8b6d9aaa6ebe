// What a program inside tries, and what stops it. Each attempt runs in a real sandbox and answers in
// words; the sandbox has to work afterwards. What hostile programs try is in tests/attack.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "machine.h"

namespace berth::local {
namespace {

// A call by number from Python: the name of the errno, or "done".
constexpr char kPrelude[] = R"(
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
def attempt(action):
    try:
        action()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
)";

std::string ask(Sandbox& sandbox, const std::string& source) {
  const Ran ran = python(sandbox, kPrelude + source);
  EXPECT_EQ(ran.result.cause, Cause::kExited) << ran.err;
  return ran.out + ran.err;
}

TEST(Containment, NamespacesAreRefusedThroughCloneToo) {
  Machine machine;
  const std::string source =
      "for flag in (0x10000000, 0x20000000, 0x00020000, 0x40000000, 0x08000000, 0x04000000, 0x02000000):\n"
      "    print(call(" + std::to_string(SYS_clone) + ", flag | 17, 0, 0, 0, 0))\n";
  std::string expected;
  for (int i = 0; i < 7; ++i) expected += "EPERM\n";
  EXPECT_EQ(ask(*machine.sandbox(), source), expected);
}

// A server of the host on every address, so that a refused connection means it was not reached.
class HostServer {
 public:
  HostServer() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof(address);
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd_, 4) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      ADD_FAILURE() << "no server on loopback";
    }
    port_ = ntohs(address.sin_port);
  }
  HostServer(const HostServer&) = delete;
  HostServer& operator=(const HostServer&) = delete;
  ~HostServer() { close(fd_); }
  int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

TEST(Containment, ThereIsNoNetworkButItsOwnLoopback) {
  const HostServer server;
  Machine machine;
  const std::string source = "port = " + std::to_string(server.port()) + R"(
def connect(address):
    with socket.socket() as one:
        one.settimeout(5)
        one.connect((address, port))
print(attempt(lambda: connect("127.0.0.1")))
print(attempt(lambda: connect("1.1.1.1")))
print(attempt(lambda: connect("169.254.169.254")))
print(sorted(line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]))
with socket.socket() as mine:
    mine.bind(("127.0.0.1", 0))
    mine.listen()
    port = mine.getsockname()[1]
    print("own", attempt(lambda: connect("127.0.0.1")))
)";
  EXPECT_EQ(ask(*machine.sandbox(), source),
            "ECONNREFUSED\nENETUNREACH\nENETUNREACH\n['lo']\nown done\n");
}

TEST(Containment, NothingOfTheHostsEnvironmentFilesOrProcessesIsVisible) {
  constexpr char kSecret[] = "berth-test-secret-5b1c7e";
  ASSERT_EQ(setenv("BERTH_TEST_SECRET", kSecret, 1), 0);
  Machine machine;
  const std::string host_file = machine.state_dir() + "/secret";
  std::ofstream(host_file) << kSecret;
  const std::string source = "needle = '" + std::string(kSecret).substr(0, 10) + "' + '" +
                             std::string(kSecret).substr(10) + "'\nhost_file = '" + host_file + R"('
print(os.path.exists(host_file), os.path.exists('/root'), os.path.exists('/sys/kernel'))
print(sorted(name for name in os.listdir('/') if not name.startswith('lib')))
print([name for name in ('shadow', 'ssh', 'machine-id', 'pip.conf', 'ssl/private', 'sudoers') if os.path.exists('/etc/' + name)])
found = []
for folder, folders, files in os.walk('/proc'):
    if folder.startswith('/proc/sys') or '/task/' in folder: folders.clear(); continue
    for name in files:
        if name in ('environ', 'cmdline', 'mountinfo', 'cgroup', 'maps'):
            try: text = open(os.path.join(folder, name), 'rb').read()
            except OSError: continue
            if needle.encode() in text and not folder.startswith('/proc/%d' % os.getpid()) and folder != '/proc/self' and folder != '/proc/thread-self': found.append(folder)
print(found, needle in str(os.environ))
)";
  EXPECT_EQ(ask(*machine.sandbox(), source),
            "False False False\n"
            "['bin', 'dev', 'etc', 'home', 'proc', 'run', 'sbin', 'tmp', 'usr', 'var', 'workspace']\n[]\n[] False\n");
  unsetenv("BERTH_TEST_SECRET");
}

TEST(Containment, TheSystemIsReadOnly) {
  Machine machine;
  const std::string source = R"(
for path in ('/usr/x', '/etc/x', '/x', '/bin/x', '/dev/x', '/run/x', '/var/x', '/home/x', '/proc/sys/kernel/core_pattern', '/etc/ld.so.cache'):
    print(path, attempt(lambda: open(path, 'w')) in ('EROFS', 'EACCES', 'EPERM'))
for path in ('/workspace/x', '/tmp/x', '/dev/shm/x', '/var/tmp/x', '/dev/null'):
    print(path, attempt(lambda: open(path, 'w')))
print(attempt(lambda: os.chmod('/usr', 0o777)) in ('EROFS', 'EPERM'))
print(attempt(lambda: os.mknod('/tmp/node', 0o20666, os.makedev(1, 3))) in ('EPERM', 'EACCES'))
)";
  EXPECT_EQ(ask(*machine.sandbox(), source),
            "/usr/x True\n/etc/x True\n/x True\n/bin/x True\n/dev/x True\n/run/x True\n/var/x True\n/home/x True\n"
            "/proc/sys/kernel/core_pattern True\n/etc/ld.so.cache True\n"
            "/workspace/x done\n/tmp/x done\n/dev/shm/x done\n/var/tmp/x done\n/dev/null done\nTrue\nTrue\n");
}

TEST(Containment, WhatTellsAboutTheHostInProcIsCovered) {
  Machine machine;
  const std::string source = R"(
for name in ('kallsyms', 'interrupts', 'keys', 'key-users', 'locks', 'modules', 'cmdline', 'vmstat', 'zoneinfo', 'diskstats', 'partitions', 'config.gz', 'softirqs'):
    path = '/proc/' + name
    if not os.path.exists(path): continue
    if open(path, 'rb').read() != b'': print(name, 'tells something')
for name in ('kcore', 'kmsg', 'timer_list', 'slabinfo', 'sysrq-trigger', 'vmallocinfo', 'kpageflags'):
    path = '/proc/' + name
    if os.path.exists(path) and attempt(lambda: open(path, 'rb').read(1)) == 'done' and open(path, 'rb').read(1): print(name, 'can be read')
print(float(open('/proc/uptime').read().split()[0]) < 1000)
)";
  EXPECT_EQ(ask(*machine.sandbox(), source), "True\n");
}

TEST(Containment, APlainIdentityWithoutCapabilities) {
  Machine machine;
  const std::string source = R"(
wanted = ('Uid', 'Gid', 'Groups', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp', 'SigIgn')
for line in open('/proc/self/status'):
    key, value = line.split(':', 1)
    if key in wanted and key not in ('Groups', 'SigIgn'): print(key, ' '.join(value.split()))
print(attempt(lambda: os.setuid(0)), attempt(lambda: os.setgid(0)))
)";
  EXPECT_EQ(ask(*machine.sandbox(), source),
            "Uid 1000 1000 1000 1000\nGid 1000 1000 1000 1000\n"
            "CapInh 0000000000000000\nCapPrm 0000000000000000\nCapEff 0000000000000000\n"
            "CapBnd 0000000000000000\nCapAmb 0000000000000000\nNoNewPrivs 1\nSeccomp 2\nEINVAL EINVAL\n");
}

TEST(Containment, TheInitCannotBeHurtFromInside) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const std::string source = R"(
import signal
for number in (9, 19, 15, 11): attempt(lambda: os.kill(1, number))
import resource
print(attempt(lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))))
for name in ('environ', 'maps', 'mem', 'root', 'fd', 'exe'):
    print(name, os.path.exists('/proc/1/' + name))
)";
  EXPECT_EQ(ask(*sandbox, source),
            "EPERM\nenviron False\nmaps False\nmem False\nroot False\nfd False\nexe False\n");
  EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n");
}

TEST(Containment, TwoSandboxesShareNothing) {
  Machine machine;
  const auto one = machine.sandbox();
  const auto two = machine.sandbox();
  EXPECT_EQ(shell(*one, "echo x > /tmp/mark; echo x > /dev/shm/mark; ipcmk -Q > /dev/null; ls /tmp").out, "mark\n");
  EXPECT_EQ(shell(*two, "ls /tmp /dev/shm; ipcs -q | grep -c 0x").out, "/dev/shm:\n\n/tmp:\n0\n");
}

// The number outside, as the kernel tells it.
std::string outer_identity(const std::string& state_dir, const std::string& name) {
  const auto process = StateStore(state_dir).process(name);
  if (!process) return "no process";
  std::ifstream status("/proc/" + std::to_string(process->pid) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("Uid:")) {
      std::istringstream words(line);
      words >> line >> line;
      return line;
    }
  }
  return "no status";
}

TEST(Containment, TwoLivingSandboxesOfAPrivilegedHostHaveTwoIdentities) {
  Machine machine;
  const auto one = machine.sandbox();
  const auto two = machine.sandbox();
  const std::string first = outer_identity(machine.state_dir(), one->name());
  const std::string second = outer_identity(machine.state_dir(), two->name());
  if (geteuid() == 0) {
    EXPECT_NE(first, second);
    EXPECT_GE(std::stoul(first), default_config().identity_base);
  } else {
    EXPECT_EQ(first, std::to_string(geteuid()));
    EXPECT_EQ(second, first);
  }
}

TEST(Containment, ProgramsAreEndedForMemoryBeforeTheirInit) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  EXPECT_EQ(shell(*sandbox, "cat /proc/self/oom_score_adj").out, "300\n");
  const auto process = StateStore(machine.state_dir()).process(sandbox->name());
  ASSERT_TRUE(process);
  const std::string init = "/proc/" + std::to_string(process->pid) + "/oom_score_adj";
  EXPECT_EQ(read_small_file(init), read_small_file("/proc/self/oom_score_adj"));
}

TEST(Containment, MemoryOfEveryKindIsBoundedAndTheSandboxGoesOn) {
  Config config = default_config();
  config.limits.memory_bytes = 48u << 20;
  Machine machine(config);
  const auto sandbox = machine.sandbox();
  const Ran file = shell(*sandbox, "head -c 300000000 /dev/zero > /dev/shm/big && echo written");
  EXPECT_EQ(file.out, "");
  EXPECT_EQ(shell(*sandbox, "rm /dev/shm/big; echo fine").out, "fine\n");
  const char* const kinds[] = {
      "import os; f = os.memfd_create('m'); os.truncate(f, 300 << 20)\n"
      "for i in range(4800): os.pwrite(f, b'x' * 65536, i << 16)",
      "import mmap; m = mmap.mmap(-1, 300 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)\n"
      "for i in range(0, 300 << 20, 4096): m[i] = 1",
      "kept = []\nwhile True: kept.append(b'x' * 100000)"};
  for (const char* kind : kinds) {
    EXPECT_EQ(python(*sandbox, kind).result.cause, Cause::kOom) << kind;
    EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n") << kind;
  }
}

}  // namespace
}  // namespace berth::local
