#include "helper/command_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "helper/layers.h"

namespace berth::local {
namespace {

bool limit(__rlimit_resource which, rlim_t soft, rlim_t hard) {
  rlimit now{};
  if (getrlimit(which, &now) != 0) return false;
  if (now.rlim_max != RLIM_INFINITY && hard > now.rlim_max) hard = now.rlim_max;
  if (soft > hard) soft = hard;
  const rlimit wanted{soft, hard};
  return setrlimit(which, &wanted) == 0;
}

// What an exhausted host or sandbox should kill first: programs, before the init and anything else. The
// init cannot be dumped, which makes the files of its children somebody else's until they become programs.
bool volunteer_when_memory_runs_out() {
  if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return false;
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  const bool good = fd >= 0 && write(fd, "300", 3) == 3;
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return good;
}

bool apply_limits(const Run& request) {
  constexpr rlim_t kLockedBytes = 8u << 20;
  constexpr rlim_t kQueueBytes = 256u << 10;
  constexpr rlim_t kPendingSignals = 4096;
  constexpr rlim_t kStackBytes = 8u << 20;
  const rlim_t file_size = request.file_size_bytes == 0 ? RLIM_INFINITY : request.file_size_bytes;
  // Not zero: a size of one keeps the kernel from starting the host's crash collector as well.
  // The inits of a template's sandboxes begin as what it is.
  const bool volunteers = (request.flags & kRunTemplate) == 0;
  bool good = (!volunteers || volunteer_when_memory_runs_out()) && limit(RLIMIT_CORE, 1, 1) &&
              limit(RLIMIT_NICE, 0, 0) && limit(RLIMIT_RTPRIO, 0, 0) &&
              limit(RLIMIT_MEMLOCK, kLockedBytes, kLockedBytes) &&
              limit(RLIMIT_MSGQUEUE, kQueueBytes, kQueueBytes) &&
              limit(RLIMIT_SIGPENDING, kPendingSignals, kPendingSignals) &&
              limit(RLIMIT_STACK, kStackBytes, RLIM_INFINITY) &&
              limit(RLIMIT_FSIZE, file_size, file_size) &&
              limit(RLIMIT_NOFILE, request.open_files, request.open_files) &&
              limit(RLIMIT_NPROC, request.processes, request.processes);
  if (request.cpu_time_seconds != 0) {
    // The soft limit raises SIGXCPU, which says why; the hard one a second later cannot be ignored.
    good = good && limit(RLIMIT_CPU, request.cpu_time_seconds, request.cpu_time_seconds + 1);
  }
  return good;
}

void forget_signals() {
  // Asked of the kernel itself: the C library hides two of its signals, which may arrive ignored.
  constexpr std::size_t kMaskBytes = 8;
  unsigned long usual[4] = {};  // the kernel's struct: default action, no flags, no mask
  for (int number = 1; number <= 64; ++number) {
    syscall(SYS_rt_sigaction, number, usual, nullptr, kMaskBytes);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Three strings and more: the working folder, then argv, then the environment, each ended by NUL.
// false when the block is not exactly that.
bool split_strings(char* block, std::size_t size, char** strings, std::size_t count) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (at >= size) return false;
    strings[i] = block + at;
    const void* end = std::memchr(block + at, '\0', size - at);
    if (end == nullptr) return false;
    at = static_cast<std::size_t>(static_cast<const char*>(end) - block) + 1;
  }
  return at == size;
}

const char* path_of(char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, "PATH=", 5) == 0) return *environment + 5;
  }
  return "/usr/bin:/bin";
}

// The errno of the most telling attempt: a file found but not runnable beats one not found.
int execute(char** argv, char** environment) {
  if (std::strchr(argv[0], '/') != nullptr) {
    execve(argv[0], argv, environment);
    return errno;
  }
  int telling = ENOENT;
  const char* at = path_of(environment);
  while (true) {
    const char* end = std::strchr(at, ':');
    const std::size_t size = end == nullptr ? std::strlen(at) : static_cast<std::size_t>(end - at);
    char candidate[kPathMaxBytes + 1];
    const int written = std::snprintf(candidate, sizeof(candidate), "%.*s/%s",
                                      static_cast<int>(size), size == 0 ? "." : at, argv[0]);
    if (written > 0 && static_cast<std::size_t>(written) < sizeof(candidate)) {
      execve(candidate, argv, environment);
      if (errno != ENOENT && errno != ENOTDIR) telling = errno;
    }
    if (end == nullptr) return telling;
    at = end + 1;
  }
}

// Everything but the three streams goes at the exec, the report pipe with it.
bool keep_three_descriptors(std::uint32_t skipped_layers) {
  if (wanted(skipped_layers, Layer::kDescriptors)) {
    return syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0;
  }
  constexpr int kHighest = 64;
  for (int fd = 3; fd < kHighest; ++fd) fcntl(fd, F_SETFD, 0);
  return true;
}

}  // namespace

void give_up(int report, Step step, int error) {
  const ChildReport text{step, error, 0, 0, 0};
  // A pipe with room: the write is whole or the init is gone.
  [[maybe_unused]] const ssize_t written = write(report, &text, sizeof(text));
  _exit(1);
}

PreparedCommand prepare_command(const Run& request, std::uint32_t skipped_layers, const int* fds,
                                int report) {
  setsid();
  const std::size_t size = request.arguments_bytes;
  if (request.argument_count == 0 || size == 0 || size > kArgumentsMaxBytes) {
    give_up(report, Step::kDescriptors, EINVAL);
  }
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[0], 0);
  if (block == MAP_FAILED) give_up(report, Step::kDescriptors, errno);
  // One for the folder, and an end for each of the two lists.
  const std::size_t count = std::size_t{1} + request.argument_count + request.environment_count;
  auto** strings = static_cast<char**>(std::calloc(count + 2, sizeof(char*)));
  if (strings == nullptr) give_up(report, Step::kDescriptors, ENOMEM);
  if (!split_strings(static_cast<char*>(block), size, strings, count)) {
    give_up(report, Step::kDescriptors, EINVAL);
  }
  char* const folder = strings[0];
  char** const argv = strings + 1;
  char** const environment = argv + request.argument_count + 1;
  std::memmove(environment, argv + request.argument_count,
               request.environment_count * sizeof(char*));
  argv[request.argument_count] = nullptr;
  environment[request.environment_count] = nullptr;

  for (int target = 0; target < 3; ++target) {
    if (dup2(fds[1 + target], target) < 0) give_up(report, Step::kDescriptors, errno);
  }
  if (chdir(folder) != 0) give_up(report, Step::kFolder, errno);
  if (wanted(skipped_layers, Layer::kRlimit) && !apply_limits(request)) {
    give_up(report, Step::kLimits, errno);
  }
  umask(022);
  if (!keep_three_descriptors(skipped_layers)) give_up(report, Step::kDescriptors, errno);
  return PreparedCommand{folder, argv, environment};
}

void execute_command(const PreparedCommand& command, int report) {
  forget_signals();
  give_up(report, Step::kExec, execute(command.argv, command.environment));
}

}  // namespace berth::local
