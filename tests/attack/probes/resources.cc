// Probes 32 to 39: using up what others need. Every loop has an end of its own a little above the limits
// of the sandbox, so that nothing happens to a host where a limit is missing.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "probe.h"

namespace berth::attack {
namespace {

constexpr std::size_t kMebibyte = 1u << 20;

void fork_without_end() {
  constexpr int kMost = 200;
  std::vector<pid_t> children;
  int error = 0;
  while (static_cast<int>(children.size()) < kMost && error == 0) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (child < 0) {
      error = errno;
    } else {
      children.push_back(child);
    }
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  errno = error;
  say_result("two hundred processes", error == 0 ? 0 : -1);
}

// A thousand grandchildren whose parents are gone. More than the bound on processes: it is kept only
// when somebody reaps them.
void leave_orphans() {
  constexpr int kOrphans = 500;
  for (int i = 0; i < kOrphans; ++i) {
    pid_t child = -1;
    for (int attempt = 0; child < 0 && attempt < 2000; ++attempt) {
      child = fork();
      if (child < 0) usleep(1000);  // they are being reaped
    }
    if (child < 0) return say("five hundred orphans", "left as zombies");
    if (child == 0) {
      if (fork() == 0) _exit(0);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  say("five hundred orphans", "reaped");
}

// Ends itself after a minute, in case nobody else does.
void become_daemon() {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) signal(number, SIG_IGN);
    for (int i = 0; i < 6000; ++i) {
      const int fd = open("beat", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      if (write(fd, "x", 1) != 1) _exit(0);
      close(fd);
      usleep(10'000);
    }
    _exit(0);
  }
  while (access("beat", F_OK) != 0) usleep(1000);
  say("a daemon", "begun");
}

long size_of_beat() {
  struct stat info{};
  return stat("beat", &info) == 0 ? static_cast<long>(info.st_size) : -1;
}

void watch_beat() {
  const long before = size_of_beat();
  // Fifty beats: on a busy machine one may be late.
  for (int i = 0; i < 50 && before == size_of_beat(); ++i) usleep(10'000);
  say("what the daemon of an earlier command does", before == size_of_beat() ? "nothing" : "goes on");
  unlink("beat");
}

// 160 MiB, page by page; the sandbox has 96.
constexpr std::size_t kTooMuchBytes = 160 * kMebibyte;

int touch_all(int flags, int fd) {
  void* const at = mmap(nullptr, kTooMuchBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (at == MAP_FAILED) return errno;
  for (std::size_t i = 0; i < kTooMuchBytes; i += 4096) static_cast<volatile char*>(at)[i] = 1;
  return 0;
}

int use_memory_file() {
  const int fd = memfd_create("probe", 0);
  if (fd < 0 || ftruncate(fd, kTooMuchBytes) != 0) return errno;
  return touch_all(MAP_SHARED, fd);
}

int lock_memory() {
  constexpr std::size_t kLocked = 16 * kMebibyte;
  void* const at =
      mmap(nullptr, kLocked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return error_of(mlock(at, kLocked));
}

void use_up_memory() {
  say_in_child("own memory", [] { return touch_all(MAP_PRIVATE | MAP_ANONYMOUS, -1); });
  say_in_child("shared memory", [] { return touch_all(MAP_SHARED | MAP_ANONYMOUS, -1); });
  say_in_child("a file in memory", use_memory_file);
}

void lock_more_memory() { say_in_child("16 MiB of locked memory", lock_memory); }

int write_megabytes(const char* path, std::size_t count) {
  static char piece[kMebibyte];
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  if (path[0] != '/') unlink(path);  // deleted and still open is no way round
  for (std::size_t i = 0; i < count; ++i) {
    const ssize_t written = write(fd, piece, sizeof(piece));
    if (written < 0) return errno;
  }
  return 0;
}

int make_files(int count) {
  int error = 0;
  int made = 0;
  mkdir("many", 0755);
  char path[64];
  for (; made < count && error == 0; ++made) {
    std::snprintf(path, sizeof(path), "many/%d", made);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    error = fd < 0 ? errno : 0;
    if (fd >= 0) close(fd);
  }
  for (int i = 0; i < made; ++i) {
    std::snprintf(path, sizeof(path), "many/%d", i);
    unlink(path);
  }
  rmdir("many");
  return error;
}

int allocate_at_once() {
  const int fd = open("big", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const int error = error_of(fallocate(fd, 0, 0, 40 * kMebibyte));
  unlink("big");
  return error;
}

void use_up_disk() {
  say_in_child("40 MiB in a file", [] { return write_megabytes("big", 40); });
  say_in_child("fallocate of 40 MiB", allocate_at_once);
  say_in_child("five thousand files", [] { return make_files(5000); });
}

void use_up_descriptors() {
  constexpr int kMost = 400;
  int made = 0;
  while (made < kMost && dup(0) >= 0) ++made;
  say_result("four hundred descriptors", made == kMost ? 0 : -1);
}

// Holds on to what it got until it is ended, so that somebody outside can look.
void take_watches() {
  constexpr int kMost = 200;
  const int first = inotify_init1(IN_CLOEXEC);
  const int why = errno;
  for (int made = 1; made < kMost && inotify_init1(IN_CLOEXEC) >= 0;) ++made;
  // Last: whoever looks does so as soon as this is said.
  errno = why;
  say_result("a set of watches", first);
  pause();
}

void take_asynchronous_contexts() {
  unsigned long context = 0;
  say_result("io_setup of 30000 events", syscall(SYS_io_setup, 30'000, &context));
}

// A file system is written out through any file of it, and the host's can be read.
void write_out_host_file_systems() { say_result("syncfs", syncfs(-1)); }

int connect_pair(int listener, const sockaddr_in& address) {
  const int from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(from, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return -1;
  if (accept(listener, nullptr, nullptr) < 0) return -1;
  fcntl(from, F_SETFL, O_NONBLOCK);
  return from;
}

// Connections nobody reads from, filled until the kernel takes no more. 0 when they hold more than all the
// memory of the sandbox.
int fill_unread_connections() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return errno;
  }
  static char piece[kMebibyte];
  std::size_t held = 0;
  constexpr int kPairs = 100;
  for (int i = 0; i < kPairs && held < kTooMuchBytes; ++i) {
    const int from = connect_pair(listener, address);
    if (from < 0) break;
    ssize_t written = 0;
    while (held < kTooMuchBytes && (written = write(from, piece, sizeof(piece))) > 0) {
      held += static_cast<std::size_t>(written);
    }
  }
  constexpr std::size_t kAllowedBytes = 96 * kMebibyte;
  return held > kAllowedBytes ? 0 : ENOBUFS;
}

void fill_connections() { say_in_child("unread bytes in connections", fill_unread_connections); }

// 32 MiB of what a terminal should not see; the sandbox is ended at eight.
void flood() {
  static char piece[65536];
  for (std::size_t i = 0; i < sizeof(piece); ++i) piece[i] = "\x1b]52;c;\xff\xfe\0"[i % 10];
  for (int i = 0; i < 512; ++i) {
    if (write(i % 2 == 0 ? 1 : 2, piece, sizeof(piece)) < 0) break;
  }
}

void take_priority() {
  sched_param most{};
  most.sched_priority = 50;
  say_result("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &most));
  struct Deadline {
    unsigned size = sizeof(Deadline);
    unsigned policy = 6;  // SCHED_DEADLINE
    unsigned long long flags = 0;
    int nice = 0;
    unsigned priority = 0;
    unsigned long long runtime = 1'000'000;
    unsigned long long deadline = 100'000'000;
    unsigned long long period = 100'000'000;
  } deadline;
  say_result("SCHED_DEADLINE", syscall(SYS_sched_setattr, 0, &deadline, 0));
  say_result("nice -20", setpriority(PRIO_PROCESS, 0, -20));
  rlimit more{1u << 20, 1u << 20};
  say_result("raise the limit on descriptors", setrlimit(RLIMIT_NOFILE, &more));
}

void hurt_init() {
  const pid_t init = getppid();
  for (const int number : {SIGSTOP, SIGSEGV, SIGTERM, SIGKILL}) {
    if (kill(init, number) != 0) say_result("kill", -1);
  }
  // Long enough for the other end to notice, where there is something to notice.
  usleep(200'000);
  say("the init", getppid() == init && kill(init, 0) == 0 ? "lives" : "is gone");
}

}  // namespace

const Program kResourcePrograms[] = {{"fork_without_end", fork_without_end},
                                     {"leave_orphans", leave_orphans},
                                     {"become_daemon", become_daemon},
                                     {"watch_beat", watch_beat},
                                     {"use_up_memory", use_up_memory},
                                     {"lock_more_memory", lock_more_memory},
                                     {"use_up_disk", use_up_disk},
                                     {"use_up_descriptors", use_up_descriptors},
                                     {"take_watches", take_watches},
                                     {"take_asynchronous_contexts", take_asynchronous_contexts},
                                     {"write_out_host_file_systems", write_out_host_file_systems},
                                     {"fill_connections", fill_connections},
                                     {"flood", flood},
                                     {"take_priority", take_priority},
                                     {"hurt_init", hurt_init},
                                     {nullptr, nullptr}};

}  // namespace berth::attack
