// Probes 15 to 21: what the kernel offers beyond what programs need.
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "probe.h"

namespace berth::attack {
namespace {

struct Call {
  const char* name;
  long number;
  long arguments[5];
};

long address(const void* at) { return reinterpret_cast<long>(at); }

void say_calls(const Call* calls, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const long* a = calls[i].arguments;
    say_result(calls[i].name, syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], 0));
  }
}

// Arguments are such that a call does nothing that outlives this program, even where it is let through.
void call_what_anyone_may() {
  alignas(8) static unsigned char zeros[512] = {};
  constexpr long kProcessKeyring = -2;
  const Call calls[] = {
      {"io_uring_setup", SYS_io_uring_setup, {1, address(zeros)}},
      {"io_uring_enter", SYS_io_uring_enter, {-1}},
      {"io_uring_register", SYS_io_uring_register, {-1, 2}},
      {"userfaultfd", SYS_userfaultfd, {1 | O_CLOEXEC}},
      {"add_key", SYS_add_key, {address("user"), address("probe"), address("x"), 1, kProcessKeyring}},
      {"request_key", SYS_request_key, {address("user"), address("none")}},
      {"keyctl", SYS_keyctl, {0, kProcessKeyring, 1}},
      {"move_pages", SYS_move_pages, {0}},
      {"get_mempolicy", SYS_get_mempolicy, {0}},
      {"fanotify_init", SYS_fanotify_init, {0x200}},
      {"memfd_secret", SYS_memfd_secret, {0}},
      {"process_madvise", SYS_process_madvise, {-1, 0, 0, 0, 0}},
      {"process_mrelease", SYS_process_mrelease, {-1}},
      {"set_mempolicy_home_node", SYS_set_mempolicy_home_node, {0, 0, 0, 1}},
  };
  say_calls(calls, sizeof(calls) / sizeof(calls[0]));
}

// What the kernel leaves to its root. The arguments are refused by the call itself or change nothing.
void call_what_root_may() {
  alignas(8) static unsigned char zeros[512] = {};
  static bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_ARRAY;
  map.key_size = map.value_size = 4;
  map.max_entries = 1;
  static perf_event_attr event{};
  event.type = PERF_TYPE_SOFTWARE;
  event.size = sizeof(event);
  event.config = PERF_COUNT_SW_CPU_CLOCK;
  static const timespec impossible{0, -1};
  const long none = address("/berth-none");
  const Call calls[] = {
      {"bpf", SYS_bpf, {BPF_MAP_CREATE, address(&map), sizeof(map)}},
      {"perf_event_open", SYS_perf_event_open, {address(&event), -1, 0, -1, 0}},
      {"kexec_load", SYS_kexec_load, {0, 1000, 0, 0}},
      {"init_module", SYS_init_module, {0, 0, address("")}},
      {"finit_module", SYS_finit_module, {-1, address(""), 0}},
      {"delete_module", SYS_delete_module, {address("berth_none"), 0}},
      {"swapon", SYS_swapon, {none, 0}},
      {"swapoff", SYS_swapoff, {none}},
      {"acct", SYS_acct, {none}},
      {"quotactl", SYS_quotactl, {0, none, 0, 0}},
      {"reboot", SYS_reboot, {0, 0, 0}},
      {"clock_settime", SYS_clock_settime, {0, address(&impossible)}},
      {"clock_adjtime", SYS_clock_adjtime, {0, address(zeros)}},
      {"adjtimex", SYS_adjtimex, {address(zeros)}},
      {"settimeofday", SYS_settimeofday, {0, 0}},
      {"sethostname", SYS_sethostname, {address("probe"), 5}},
      {"syslog", SYS_syslog, {10, 0, 0}},
      {"lookup_dcookie", SYS_lookup_dcookie, {0, address(zeros), 16}},
  };
  say_calls(calls, sizeof(calls) / sizeof(calls[0]));
}

#if defined(__x86_64__)
int call_by_interrupt() {
  long result = 20;  // getpid of the 32-bit table
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
  errno = static_cast<int>(-result);
  return error_of(result < 0 ? -1 : 0);
}

int call_by_x32() { return error_of(syscall(0x40000000 + SYS_getpid)); }

// _exit(0) of the 32-bit table, in the smallest 32-bit ELF.
int run_32_bit_program() {
  constexpr unsigned char kElf[] = {
      0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0, 0x54, 0x80,
      4, 8, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x34, 0, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0,
      1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 4, 8, 0, 0x80, 4, 8, 0x5d, 0, 0, 0, 0x5d, 0, 0, 0, 5, 0, 0, 0,
      0, 0x10, 0, 0,
      0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80};
  const int fd = open("program-32", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  if (fd < 0 || write(fd, kElf, sizeof(kElf)) != sizeof(kElf)) return errno;
  close(fd);
  execl("./program-32", "program-32", nullptr);
  return errno;
}

void call_by_other_conventions() {
  say_in_child("int 0x80", call_by_interrupt);
  say_in_child("x32", call_by_x32);
  say_in_child("a 32-bit program", run_32_bit_program);
  unlink("program-32");
  say_result("a number nobody knows", syscall(9999));
}
#else
void call_by_other_conventions() {}
#endif

void open_sockets() {
  struct Kind {
    const char* name;
    int family;
    int type;
    int protocol;
  };
  const Kind kinds[] = {{"netlink route", AF_NETLINK, SOCK_RAW, 0},
                        {"netlink netfilter", AF_NETLINK, SOCK_RAW, 12},
                        {"netlink audit", AF_NETLINK, SOCK_RAW, 9},
                        {"netlink uevent", AF_NETLINK, SOCK_RAW, 15},
                        {"vsock", AF_VSOCK, SOCK_STREAM, 0},
                        {"packet", AF_PACKET, SOCK_RAW, 0},
                        {"alg", AF_ALG, SOCK_SEQPACKET, 0},
                        {"key", AF_KEY, SOCK_RAW, 2},
                        {"bluetooth", AF_BLUETOOTH, SOCK_RAW, 1},
                        {"tipc", AF_TIPC, SOCK_STREAM, 0},
                        {"rds", AF_RDS, SOCK_SEQPACKET, 0},
                        {"xdp", AF_XDP, SOCK_RAW, 0},
                        {"raw", AF_INET, SOCK_RAW, 1},
                        {"raw over IPv6", AF_INET6, SOCK_RAW, 58}};
  for (const Kind& kind : kinds) say_result(kind.name, socket(kind.family, kind.type, kind.protocol));
  constexpr int kUpperProtocol = 31;  // TCP_ULP
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  say_result("TLS in the kernel", setsockopt(connection, IPPROTO_TCP, kUpperProtocol, "tls", 3));
}

// A terminal of the host's where one can be had, so that letting the call through is seen as such.
int open_terminal() {
  const int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  if (master < 0) return STDIN_FILENO;
  int unlocked = 0;
  ioctl(master, TIOCSPTLCK, &unlocked);
  const int terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
  setsid();
  ioctl(terminal, TIOCSCTTY, 0);
  return terminal;
}

void inject_into_terminal() {
  const int terminal = open_terminal();
  const char key = 'x';
  constexpr long kInject = 0x5412;
  say_result("TIOCSTI", syscall(SYS_ioctl, terminal, kInject, &key));
  say_result("TIOCSTI with a bit above", syscall(SYS_ioctl, terminal, kInject | (1L << 32), &key));
  say_result("TIOCSTI with every bit above", syscall(SYS_ioctl, terminal, kInject | (-1L << 32), &key));
  say_result("TIOCLINUX", syscall(SYS_ioctl, terminal, 0x541CL, &key));
  say_result("TIOCCONS", syscall(SYS_ioctl, terminal, 0x541DL, 0));
}

sock_filter allow_all[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
sock_fprog allow_program{1, allow_all};

int install_filter(unsigned flags) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return error_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &allow_program));
}

// A path that a second thread rewrites while the kernel is being asked about it.
std::atomic<bool> racing{true};
char raced_path[512];

void* rewrite_path(void*) {
  char outside[512];
  std::snprintf(outside, sizeof(outside), "%s", host_path("marker"));
  while (racing) {
    std::memcpy(raced_path, "/dev/null", sizeof("/dev/null"));
    std::memcpy(raced_path, outside, std::strlen(outside) + 1);
  }
  return nullptr;
}

void race_against_checks() {
  say_in_child("listener of system calls",
               [] { return install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER); });
  pthread_t rewriter;
  if (pthread_create(&rewriter, nullptr, rewrite_path, nullptr) != 0) return;
  bool reached = false;
  char byte = 0;
  constexpr int kRounds = 20'000;
  for (int i = 0; i < kRounds && !reached; ++i) {
    const int fd = open(raced_path, O_RDONLY | O_CLOEXEC);
    reached = fd >= 0 && read(fd, &byte, 1) == 1;
    if (fd >= 0) close(fd);
  }
  racing = false;
  pthread_join(rewriter, nullptr);
  say("a path rewritten while it is opened", reached ? "reached the host" : "stays inside");
}

void change_own_process() {
  say_result("personality", personality(ADDR_NO_RANDOMIZE));
#if defined(__x86_64__)
  static char table[64];
  say_result("modify_ldt", syscall(SYS_modify_ldt, 0, table, sizeof(table)));
#endif
  unsigned size = 0;
  say_result("PR_SET_MM", prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0));
  say_result("PR_SET_PTRACER", prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0));
  say_result("PR_SET_SECUREBITS", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
}

int mount_in_a_nest() {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return errno;
  return error_of(mount("probe", "/tmp", "tmpfs", 0, nullptr));
}

void nest() {
  say_in_child("own filter", [] { return install_filter(0); });
  say_in_child("a sandbox inside after an own filter that allows all", [] {
    const int error = install_filter(0);
    return error != 0 ? error : mount_in_a_nest();
  });
}

}  // namespace

const Program kSystemCallPrograms[] = {{"call_what_anyone_may", call_what_anyone_may},
                                       {"call_what_root_may", call_what_root_may},
                                       {"call_by_other_conventions", call_by_other_conventions},
                                       {"open_sockets", open_sockets},
                                       {"inject_into_terminal", inject_into_terminal},
                                       {"race_against_checks", race_against_checks},
                                       {"change_own_process", change_own_process},
                                       {"nest", nest},
                                       {nullptr, nullptr}};

}  // namespace berth::attack
