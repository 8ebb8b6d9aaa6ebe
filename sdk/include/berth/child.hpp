// SPDX-License-Identifier: Apache-2.0
//
// A program of this machine as the work of an operation: for providers that reach their service
// through a command such as ssh, docker or a vendor's tool.
//
//   Child child;
//   child.argv = {"ssh", "-o", "BatchMode=yes", machine, script};
//   const RunResult end = berth::run_child(operation, child);
//
// Its output goes through operation.output() and waits for the reader; its input, when asked for,
// comes from operation.input(). It is the leader of a session of its own, which is killed when the
// operation is cancelled, when the time is over, and when the program itself has ended.
// Threading: call it on the thread the operation runs on.
#ifndef BERTH_CHILD_HPP
#define BERTH_CHILD_HPP

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/captured_operation.hpp"
#include "berth/host.hpp"
#include "berth/values.hpp"

extern "C" char** environ;

namespace berth {
inline namespace sdk_v1 {

struct Child {
  std::vector<std::string> argv = {};  // argv[0] is looked up in PATH unless it has a slash
  StdinSource stdin_source = StdinSource::kEmpty;
  std::chrono::nanoseconds timeout{0};  // zero: as long as the operation lasts
  bool outlives_cancellation = false;   // for what has to be done all the same; give it a timeout
  std::function<void()> on_stop = {};   // called before it is killed for a cancellation or its time
};

namespace detail {

// A descriptor that is closed with its owner.
class ChildFd {
 public:
  explicit ChildFd(int fd = -1) : fd_(fd) {}
  ChildFd(ChildFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ChildFd& operator=(ChildFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ChildFd() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct ChildPipe {
  ChildFd read, write;

  ChildPipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Failure::rejected(Code::kUnavailable, std::string("no pipe: ") + std::strerror(errno));
    read = ChildFd(ends[0]);
    write = ChildFd(ends[1]);
  }
};

// The program between its start and its end.
class RunningChild {
 public:
  RunningChild(Operation& operation, const Child& child) : operation_(operation), child_(child) {
    started_ = operation.host().now();
    start();
  }
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;
  ~RunningChild() { kill_session(); }

  RunResult finish() {
    while (!ended_ || anything_left()) {
      const Cause stopped = why_stop();
      if (stopped != Cause::kUnknown) return stop(stopped);
      attend();
    }
    return judge();
  }

 private:
  void start() {
    ChildPipe in, out, err;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.read.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> argv;
    for (const std::string& word : child_.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const int error =
        ::posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      pid_ = -1;
      throw Failure::rejected(error == ENOENT ? Code::kNotFound : Code::kUnavailable,
                              "cannot start '" + child_.argv[0] + "': " + std::strerror(error));
    }
    exit_ = ChildFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (exit_.get() < 0) {
      kill_session();
      throw Failure::uncertain(Code::kInternal, std::string("no pidfd: ") + std::strerror(errno));
    }
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    if (child_.stdin_source == StdinSource::kInput) in_ = std::move(in.write);
    for (const ChildFd* fd : {&out_, &err_, &in_})
      if (fd->get() >= 0) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }

  Cause why_stop() const {
    if (gone_) return Cause::kCancelled;
    if (!child_.outlives_cancellation && operation_.cancelled()) return Cause::kCancelled;
    if (child_.timeout.count() != 0 && operation_.host().now() - started_ >= child_.timeout)
      return Cause::kWall;
    return Cause::kUnknown;
  }

  // Waits for something to do, and does it.
  void attend() {
    refill();
    const bool wants_input = in_.get() >= 0 && pending_.empty();
    const bool has_input = in_.get() >= 0 && !pending_.empty();
    pollfd fds[] = {{out_.get(), POLLIN, 0},
                    {err_.get(), POLLIN, 0},
                    {has_input ? in_.get() : -1, POLLOUT, 0},
                    {wants_input ? operation_.ready_fd() : -1, POLLIN, 0},
                    {child_.outlives_cancellation ? -1 : operation_.cancel_fd(), POLLIN, 0},
                    {ended_ ? -1 : exit_.get(), POLLIN, 0}};
    // A host without descriptors, and the program's own time, are asked for again.
    constexpr int kAskAgainMs = 50;
    ::poll(fds, std::size(fds), ended_ ? 0 : kAskAgainMs);
    if (fds[2].revents != 0) feed();
    if (fds[0].revents != 0) forward(out_, Stream::kStdout, result_.stdout_bytes);
    if (fds[1].revents != 0) forward(err_, Stream::kStderr, result_.stderr_bytes);
    if (fds[5].revents != 0) {
      ended_ = true;
      ::kill(-pid_, SIGKILL);  // what the program left running ends too
    }
  }

  // True when something was written that is not read yet.
  bool anything_left() const {
    pollfd fds[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    return ::poll(fds, 2, 0) > 0;
  }

  void refill() {
    if (in_.get() < 0 || !pending_.empty()) return;
    char buffer[16384];
    std::uint64_t got = 0;
    const berth_host_v1& table = operation_.host().table();
    const berth_input_status status =
        table.input(table.ctx, operation_.id(), reinterpret_cast<std::uint8_t*>(buffer),
                    sizeof buffer, &got);
    if (status == BERTH_INPUT_DATA) pending_.assign(buffer, got);
    else if (status != BERTH_INPUT_AGAIN) in_.reset();
  }

  // Signals belong to the process: the one for a program that reads no more is taken back here.
  void feed() {
    sigset_t pipe_only, before;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    const ssize_t written = ::write(in_.get(), pending_.data(), pending_.size());
    const int error = errno;
    if (written < 0 && error == EPIPE && sigismember(&before, SIGPIPE) == 0) {
      const timespec at_once{};
      ::sigtimedwait(&pipe_only, nullptr, &at_once);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (written > 0) pending_.erase(0, static_cast<std::size_t>(written));
    else if (error != EAGAIN && error != EINTR) in_.reset();
  }

  void forward(ChildFd& from, Stream stream, std::uint64_t& total_bytes) {
    char buffer[BERTH_OUTPUT_CHUNK_MAX_BYTES];
    const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return from.reset();
    total_bytes += static_cast<std::uint64_t>(got);
    bool& limited = stream == Stream::kStdout ? out_limited_ : err_limited_;
    if (limited) return;
    const Flow flow = operation_.output(stream, {buffer, static_cast<std::size_t>(got)});
    if (flow == Flow::kLimit) limited = true;
    if (flow == Flow::kCancelled) gone_ = !child_.outlives_cancellation;
  }

  RunResult stop(Cause cause) {
    if (child_.on_stop) child_.on_stop();
    kill_session();
    result_.cause = cause;
    return result_;
  }

  RunResult judge() {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG);
    if (info.si_code == CLD_EXITED) {
      result_.cause = Cause::kExited;
      result_.exit_code = info.si_status;
    } else if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
      result_.cause = Cause::kSignalled;
      result_.signal = static_cast<std::uint32_t>(info.si_status);
    } else {
      result_.cause = Cause::kLost;
    }
    return result_;
  }

  // The session goes before its leader is reaped: until then nobody else can have its number.
  void kill_session() {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  Operation& operation_;
  const Child& child_;
  std::chrono::nanoseconds started_{0};
  pid_t pid_ = -1;
  ChildFd exit_, in_, out_, err_;
  std::string pending_;  // input that is not written yet
  RunResult result_;
  bool ended_ = false;
  bool gone_ = false;  // the reader
  bool out_limited_ = false;
  bool err_limited_ = false;
};

}  // namespace detail

// Runs it to its end. The cause is that of the program itself, kWall after its timeout, or
// kCancelled. Throws Failure::rejected when it cannot be started.
inline RunResult run_child(Operation& operation, const Child& child) {
  return detail::RunningChild(operation, child).finish();
}

// What a program printed on its standard output, for the provider's own ends.
struct ChildLines {
  int exit_code = -1;  // -1: it was not heard to its end, so what it printed may not be all
  std::vector<std::string> lines;
};

// Runs it to its end; nothing goes to the host. Beyond CapturedOperation::kBytesMax it is dropped.
inline ChildLines run_child_for_lines(Operation& operation, const Child& child) {
  CapturedOperation captured(operation);
  const RunResult end = run_child(captured, child);
  ChildLines said{end.cause == Cause::kExited ? end.exit_code : -1, {}};
  for (std::size_t at = 0, line; at < captured.out.size(); at = line + 1) {
    line = std::min(captured.out.find('\n', at), captured.out.size());
    said.lines.push_back(captured.out.substr(at, line - at));
  }
  return said;
}

// Words as a POSIX shell reads them back: quoted where it would see anything but a plain word.
inline std::string shell_line(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@,+%=";
  std::string line;
  for (const std::string& word : words) {
    const bool first = &word == &words.front();
    if (!first) line += ' ';
    // An equals sign in the first would make an assignment of it.
    const std::string_view plain = first ? kPlain.substr(0, kPlain.size() - 1) : kPlain;
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_CHILD_HPP
