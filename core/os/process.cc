#include "core/os/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace berth::os {
namespace {

class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // The child starts with default signal actions and an empty mask, whatever this process set.
  int prepare() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    int error = posix_spawnattr_setsigmask(&attributes_, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(&attributes_, &all);
    if (error == 0)
      error = posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                         POSIX_SPAWN_SETSIGDEF);
    return error;
  }

  // A descriptor that already has its number keeps close-on-exec, unless dup2 onto itself clears it,
  // which posix_spawn does.
  int pass(int from, int to) { return posix_spawn_file_actions_adddup2(&actions_, from, to); }
  int close_from(int first) {
    return posix_spawn_file_actions_addclosefrom_np(&actions_, first);
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

std::string to_string(const ProcessEnd& end) {
  if (end.exit_code) return fmt::format("exited with code {}", *end.exit_code);
  if (end.signal) return fmt::format("was ended by signal {} ({})", *end.signal, ::strsignal(*end.signal));
  return "ended";
}

Result<Process> Process::spawn(const SpawnRequest& request) {
  SpawnPlan plan;
  int error = plan.prepare();
  // First out of the way of the targets, then onto them: no source is overwritten before its turn.
  constexpr int kAside = 64;
  int last = 2;
  std::vector<Fd> aside;
  for (const auto& [from, to] : request.descriptors) {
    last = std::max(last, to);
    aside.emplace_back(::fcntl(from, F_DUPFD_CLOEXEC, kAside));
    if (!aside.back().valid()) return fail(os_error(errno, "cannot duplicate a descriptor"));
    if (error == 0) error = plan.pass(aside.back().get(), to);
  }
  if (error == 0) error = plan.close_from(last + 1);
  if (error != 0) return fail(os_error(error, "cannot prepare a child process"));

  std::vector<std::string> arguments{request.program.string()};
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(request.environment);
  pid_t pid = -1;
  error = ::posix_spawn(&pid, request.program.c_str(), &plan.actions_, &plan.attributes_,
                        argv.data(), envp.data());
  if (error != 0)
    return fail(os_error(error, fmt::format("cannot start {}", request.program.string())));
  // Not reaped yet, so the pid is still this child's.
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    const int why = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail(os_error(why, "cannot open a pidfd"));
  }
  return Process(pid, std::move(pidfd));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), end_(other.end_) {}

Process::~Process() {
  if (pid_ < 0 || end_) return;
  kill();
  reap();
}

void Process::kill() {
  if (pid_ < 0 || end_) return;
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  // The child is not reaped, so its pid, which is the group's id, cannot belong to anyone else.
  ::kill(-pid_, SIGKILL);
}

std::optional<ProcessEnd> Process::wait(int options) {
  if (end_ || pid_ < 0) return end_;
  int status = 0;
  pid_t got = -1;
  do got = ::waitpid(pid_, &status, options);
  while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  end_.emplace();
  if (got == pid_ && WIFEXITED(status)) end_->exit_code = WEXITSTATUS(status);
  if (got == pid_ && WIFSIGNALED(status)) end_->signal = WTERMSIG(status);
  return end_;
}

std::optional<ProcessEnd> Process::try_reap() {
  if (end_ || pid_ < 0) return end_;
  // Others of the group that outlived the leader go while its pid still names the group.
  pollfd poller{pidfd_.get(), POLLIN, 0};
  if (::poll(&poller, 1, 0) != 1) return std::nullopt;
  ::kill(-pid_, SIGKILL);
  return wait(WNOHANG);
}

ProcessEnd Process::reap() {
  while (!end_ && pid_ >= 0) {
    pollfd poller{pidfd_.get(), POLLIN, 0};
    if (::poll(&poller, 1, -1) < 0 && errno != EINTR) break;
    try_reap();
  }
  return end_.value_or(ProcessEnd{});
}

Result<std::pair<Fd, Fd>> socket_pair() {
  int raw[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw) != 0)
    return fail(os_error(errno, "cannot make a socket pair"));
  return std::pair<Fd, Fd>(Fd(raw[0]), Fd(raw[1]));
}

Result<Pipe> make_pipe() {
  int raw[2] = {-1, -1};
  if (::pipe2(raw, O_CLOEXEC) != 0) return fail(os_error(errno, "cannot make a pipe"));
  return Pipe{Fd(raw[0]), Fd(raw[1])};
}

Status set_non_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return fail(os_error(errno, "cannot make a descriptor non-blocking"));
  return {};
}

std::filesystem::path executable_folder() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : path.parent_path();
}

}  // namespace berth::os
