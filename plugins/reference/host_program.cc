#include "plugins/reference/host_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace berth::reference {
namespace {

constexpr std::string_view kPath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::chrono::milliseconds kSlice{20};

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Pipe make_pipe() {
  int raw[2] = {-1, -1};
  if (::pipe2(raw, O_CLOEXEC) != 0)
    throw Failure::rejected(Code::kUnavailable, "reference: no more descriptors");
  return {Fd(raw[0]), Fd(raw[1])};
}

// A pair of sockets instead of a pipe: writing to one whose reader is gone raises no signal.
Pipe make_input() {
  int raw[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw) != 0)
    throw Failure::rejected(Code::kUnavailable, "reference: no more descriptors");
  return {Fd(raw[0]), Fd(raw[1])};
}

void set_variable(std::vector<std::string>& environment, std::string_view key, std::string_view value) {
  const std::string prefix = std::string(key) + "=";
  std::erase_if(environment, [&](const std::string& one) { return one.starts_with(prefix); });
  environment.push_back(prefix + std::string(value));
}

std::string find_program(const std::string& name, const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string path(kPath);
  for (const std::string& one : environment)
    if (one.starts_with("PATH=")) path = one.substr(5);
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string file = path.substr(at, end - at) + "/" + name;
    struct stat info {};
    if (::access(file.c_str(), X_OK) == 0 && ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode))
      return file;
    at = end + 1;
  }
  throw Failure::rejected(Code::kNotFound, "reference: no program " + name + " in PATH");
}

}  // namespace

void HostProgram::prepare(const Boxes& boxes, const std::string& sandbox, const Command& command,
                          std::uint64_t expires_unix_ms) {
  if (command.limits) Boxes::require_keepable(*command.limits);
  const std::string work = boxes.work_folder(sandbox);
  std::vector<std::string> environment{"PATH=" + std::string(kPath), "HOME=" + work, "LANG=C.UTF-8"};
  for (const std::string& one : boxes.environment(sandbox)) {
    const std::size_t equals = std::min(one.find('='), one.size() - 1);
    set_variable(environment, std::string_view(one).substr(0, equals),
                 std::string_view(one).substr(equals + 1));
  }
  for (const PairView& pair : command.env) set_variable(environment, pair.key, pair.value);
  plan_.argv.assign(command.argv.begin(), command.argv.end());
  plan_.file = find_program(plan_.argv.front(), environment);
  plan_.environment = std::move(environment);
  plan_.cwd = command.cwd.empty() ? work : std::string(command.cwd);
  plan_.limits = command.limits;
  plan_.expires_unix_ms = expires_unix_ms;
  wants_input_ = command.stdin_source == StdinSource::kInput;
  timeout_ = std::chrono::duration_cast<Clock::duration>(command.timeout);
  alive_ = boxes.hold_alive(sandbox);
  stop_ = boxes.open_stop(sandbox);
  if (!stop_.valid())
    throw Failure::rejected(Code::kNotFound, "reference: the sandbox is ending or gone");
}

void HostProgram::run() {
  try {
    start();
    exchange();
    reap();
  } catch (const Failure& failure) {
    failure_ = failure;
  } catch (const std::exception& other) {
    failure_ = Failure::uncertain(Code::kInternal, std::string("reference: ") + other.what());
  }
}

void HostProgram::start() {
  Pipe in = make_input();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  Pipe control = make_pipe();
  Pipe report = make_pipe();
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  plan_.in = wants_input_ ? in.read_end.get() : nothing.get();
  plan_.out = out.write_end.get();
  plan_.err = err.write_end.get();
  plan_.control = control.read_end.get();
  plan_.report = report.write_end.get();
  plan_.alive = alive_.get();
  plan_.stop = stop_.get();
  started_ = Clock::now();
  if (timeout_.count() > 0) due_ = started_ + timeout_;
  supervisor_ = start_supervisor(plan_);
  if (supervisor_ < 0)
    throw Failure::rejected(Code::kUnavailable, "reference: no more processes");
  control_ = std::move(control.write_end);
  report_ = std::move(report.read_end);
  out_ = {std::move(out.read_end), BERTH_STREAM_STDOUT};
  err_ = {std::move(err.read_end), BERTH_STREAM_STDERR};
  input_over_ = !wants_input_;
  if (wants_input_) {
    in_ = std::move(in.write_end);
    ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
  }
}

bool HostProgram::finished() const {
  return reported_ && !out_.fd.valid() && !err_.fd.valid();
}

void HostProgram::exchange() {
  while (!finished()) {
    stop_when_due();
    if (paused_) wait_for_reader();
    else poll_once();
  }
  ended_ = Clock::now();
}

// The time of the command, the cancellation and the operation's deadline: each ends it all. [CANC-001]
void HostProgram::stop_when_due() {
  if (ended_for_) return;
  const berth_host_v1& table = host_.table();
  if (Clock::now() >= due_) end_it(Cause::kWall);
  else if (table.op_cancelled(table.ctx, op_) != 0) end_it(Cause::kCancelled);
}

void HostProgram::end_it(Cause cause) {
  ended_for_ = cause;
  control_ = Fd();  // its end tells the supervisor
  paused_ = false;
}

void HostProgram::wait_for_reader() {
  const berth_host_v1& table = host_.table();
  const auto slice = std::chrono::duration_cast<std::chrono::nanoseconds>(kSlice);
  if (table.op_wait(table.ctx, op_, static_cast<std::uint64_t>(slice.count())) != BERTH_WAIT_TIMEOUT)
    paused_ = false;
}

void HostProgram::poll_once() {
  feed();
  const berth_host_v1& table = host_.table();
  // Full: wait until the program reads on. Empty: wait until the host has more.
  const bool more_to_write = !pending_input_.empty();
  const int ready = input_over_ || more_to_write ? -1 : table.op_ready_fd(table.ctx, op_);
  std::array<pollfd, 6> polled{{{out_.fd.get(), POLLIN, 0},
                                {err_.fd.get(), POLLIN, 0},
                                {reported_ ? -1 : report_.get(), POLLIN, 0},
                                {ended_for_ ? -1 : table.op_cancel_fd(table.ctx, op_), POLLIN, 0},
                                {more_to_write ? in_.get() : -1, POLLOUT, 0},
                                {ready, POLLIN, 0}}};
  const auto left = due_ == Clock::time_point::max() || ended_for_
                        ? std::chrono::milliseconds(1000)
                        : std::chrono::ceil<std::chrono::milliseconds>(due_ - Clock::now());
  const auto wait = std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(1000));
  if (::poll(polled.data(), polled.size(), static_cast<int>(wait.count())) <= 0) return;
  if (polled[2].revents != 0) {
    reported_ = true;
    lost_ = ::read(report_.get(), &told_, sizeof told_) != sizeof told_;
  }
  if (polled[0].revents != 0) take(out_);
  if (!paused_ && polled[1].revents != 0) take(err_);
}

void HostProgram::take(Output& output) {
  std::array<std::uint8_t, BERTH_OUTPUT_CHUNK_MAX_BYTES> buffer;
  const ssize_t got = ::read(output.fd.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    output.fd = Fd();
    return;
  }
  // Every byte is counted, also those past a cap. [RUN-006]
  output.bytes += static_cast<std::uint64_t>(got);
  if (!output.sending) return;
  const berth_host_v1& table = host_.table();
  switch (table.output(table.ctx, op_, output.stream, {buffer.data(), static_cast<std::uint64_t>(got)})) {
    case BERTH_OUTPUT_LIMIT: output.sending = false; break;
    case BERTH_OUTPUT_PAUSE: paused_ = true; break;
    case BERTH_OUTPUT_CANCELLED:
      if (!ended_for_) end_it(Cause::kCancelled);
      break;
    default: break;
  }
}

// Passes on as much input as there is and as the program takes.
void HostProgram::feed() {
  const berth_host_v1& table = host_.table();
  while (in_.valid()) {
    if (pending_input_.empty() && !input_over_) {
      std::array<std::uint8_t, 16384> buffer;
      std::uint64_t got = 0;
      const berth_input_status status = table.input(table.ctx, op_, buffer.data(), buffer.size(), &got);
      if (status == BERTH_INPUT_AGAIN) return;
      if (status == BERTH_INPUT_DATA) pending_input_.assign(reinterpret_cast<char*>(buffer.data()), got);
      else input_over_ = true;
    }
    if (pending_input_.empty()) {
      in_ = Fd();
      return;
    }
    const ssize_t wrote =
        ::send(in_.get(), pending_input_.data(), pending_input_.size(), MSG_NOSIGNAL);
    if (wrote > 0) pending_input_.erase(0, static_cast<std::size_t>(wrote));
    else if (errno == EAGAIN) return;
    else if (errno != EINTR) {  // nobody reads any more
      pending_input_.clear();
      input_over_ = true;
    }
  }
}

void HostProgram::reap() {
  int status = 0;
  while (::waitpid(supervisor_, &status, 0) < 0 && errno == EINTR) {
  }
  if (told_.exec_errno != 0)
    throw Failure::rejected(told_.exec_errno == ENOENT ? Code::kNotFound : Code::kInvalidArgument,
                            "reference: cannot start " + plan_.file + ": " +
                                std::strerror(told_.exec_errno));
}

// The cause is told from what was seen to happen, never from an exit code. [RUN-003]
RunResult HostProgram::result() const {
  if (failure_) throw *failure_;
  RunResult out;
  out.stdout_bytes = out_.bytes;
  out.stderr_bytes = err_.bytes;
  Usage usage;
  // Each command counts for itself. [USE-001]
  usage.epoch = static_cast<std::uint64_t>(started_.time_since_epoch().count());
  usage.wall_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(ended_ - started_).count());
  if (told_.status >= 0) {
    usage.cpu_ns = told_.cpu_ns;
    usage.memory_peak_bytes = told_.memory_peak_bytes;
  }
  out.usage = usage;
  if (lost_) {
    out.cause = Cause::kLost;
  } else if (told_.status < 0) {
    out.cause = ended_for_.value_or(Cause::kCancelled);  // the sandbox was ended, or its time is over
  } else if (WIFEXITED(told_.status)) {
    out.cause = Cause::kExited;
    out.exit_code = WEXITSTATUS(told_.status);
  } else {
    const int signal = WTERMSIG(told_.status);
    const bool cpu = signal == SIGXCPU && plan_.limits && plan_.limits->cpu_time.count() != 0;
    out.cause = cpu ? Cause::kCpu : Cause::kSignalled;
    out.signal = static_cast<std::uint32_t>(signal);
  }
  return out;
}

}  // namespace berth::reference
