#include "sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "exchange.h"
#include "process_handle.h"
#include "request.h"

namespace berth::local {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000u;

using Environment = std::vector<std::pair<std::string, std::string>>;

// What a program finds when nobody says otherwise. Nothing of the host's environment is in it.
Environment base_environment() {
  return {{"HOME", kWorkFolder},
          {"LANG", "C.UTF-8"},
          {"LOGNAME", "sandbox"},
          {"MPLBACKEND", "Agg"},
          {"MPLCONFIGDIR", "/tmp/matplotlib"},
          {"PATH", "/usr/bin:/bin:/usr/local/bin"},
          {"TMPDIR", "/tmp"},
          {"USER", "sandbox"}};
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

struct Arguments {
  Fd block;
  std::uint64_t bytes = 0;
  std::uint32_t argument_count = 0;
  std::uint32_t environment_count = 0;
};

Arguments make_arguments(const Command& command, const Environment& sandbox_environment) {
  if (command.argv.empty()) throw invalid("the command has no argv");
  std::map<std::string, std::string, std::less<>> environment;
  for (const auto& [key, value] : base_environment()) environment[key] = value;
  for (const auto& [key, value] : sandbox_environment) environment[key] = value;
  for (const PairView& pair : command.env) {
    if (pair.key.empty() || pair.key.find('=') != std::string_view::npos) {
      throw invalid("a name in the command's environment is empty or holds '='");
    }
    environment[std::string(pair.key)] = pair.value;
  }
  if (!command.cwd.empty() && command.cwd.front() != '/') {
    throw invalid("the working folder '" + std::string(command.cwd) + "' is not absolute");
  }
  std::string block;
  bool nul = false;
  const auto add = [&](std::string_view text) {
    nul = nul || has_nul(text);
    block.append(text).push_back('\0');
  };
  add(command.cwd.empty() ? std::string_view(kWorkFolder) : command.cwd);
  for (const std::string_view argument : command.argv) add(argument);
  for (const auto& [key, value] : environment) add(key + "=" + value);
  if (nul) throw invalid("the command holds a NUL in argv, environment or working folder");
  if (block.size() > kArgumentsMaxBytes) {
    throw invalid("argv and environment together are larger than 2 MiB; pass large input as a file");
  }
  Arguments made;
  made.block = Fd(memfd_create("berth-arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.block.valid() || write_fully(made.block.get(), block) != 0) {
    throw Failure::rejected(Code::kUnavailable, "cannot pass the arguments: " + error_text(errno));
  }
  // Sealed: the program inherits nothing of it, but the init maps it beside foreign code.
  fcntl(made.block.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  made.bytes = block.size();
  made.argument_count = static_cast<std::uint32_t>(command.argv.size());
  made.environment_count = static_cast<std::uint32_t>(environment.size());
  return made;
}

void copy_path(std::string_view path, char* into) {
  if (path.empty() || path.front() != '/' || path.size() > kPathMaxBytes || has_nul(path)) {
    throw invalid("the path '" + std::string(path.substr(0, 200)) +
                  "' is not absolute, holds a NUL or is longer than 4096 bytes");
  }
  std::memcpy(into, path.data(), path.size());
}

// A command that could not become the program that was asked for. Nothing of it ran.
Failure not_started(const Ended& ended, const Command& command) {
  const std::string program(command.argv.front());
  const std::string why = error_text(ended.error);
  switch (ended.step) {
    case Step::kExec:
      return Failure::rejected(
          ended.error == ENOENT ? Code::kNotFound : Code::kPermission,
          "cannot run '" + program + "': " + why + "; name a program that is in the sandbox");
    case Step::kFolder:
      return Failure::rejected(Code::kNotFound, "cannot enter the working folder '" +
                                                    std::string(command.cwd) + "': " + why);
    case Step::kBusy:
      return Failure::rejected(Code::kConflict, "another operation is under way in this sandbox");
    case Step::kFork:
      return Failure::rejected(Code::kQuota, "cannot start a process for '" + program + "': " + why);
    default:
      return Failure::rejected(Code::kInternal, "cannot prepare '" + program + "': " + why);
  }
}

Cause cause_of(KillReason reason) {
  switch (reason) {
    case KillReason::kNone: return Cause::kUnknown;
    case KillReason::kCancelled: return Cause::kCancelled;
    case KillReason::kWall: return Cause::kWall;
    case KillReason::kCpu: return Cause::kCpu;
    case KillReason::kOutput: return Cause::kOutput;
  }
  return Cause::kUnknown;
}

// What is known when a command is over. Each cause needs its own evidence; a number alone is none. A
// program that was told there is no space and left of its own accord has exited: that the disk was full
// does not say why it left.
struct Evidence {
  bool lost = false;         // the init did not say how it ended
  bool ended_by_us = false;  // the sandbox was destroyed meanwhile
  bool oom = false;          // the kernel's count of out-of-memory kills rose
  bool cpu_spent = false;    // the command used the CPU time it may
  bool file_bounded = false;  // files had a largest size
  bool disk_full = false;    // nothing was free when it ended
  KillReason reason = KillReason::kNone;
  int status = 0;
};

void judge(const Evidence& seen, RunResult* result) {
  constexpr int kShellKilled = 128 + SIGKILL;
  if (seen.lost) {
    if (seen.reason != KillReason::kNone) {
      result->cause = cause_of(seen.reason);
    } else if (seen.ended_by_us) {
      result->cause = Cause::kCancelled;
    } else {
      result->cause = seen.oom ? Cause::kOom : Cause::kLost;
    }
    return;
  }
  if (WIFEXITED(seen.status)) {
    const int code = WEXITSTATUS(seen.status);
    // A shell turns its child's death into a number; it counts when the kernel says the same.
    result->cause = code == kShellKilled && seen.oom ? Cause::kOom : Cause::kExited;
    if (result->cause == Cause::kExited) result->exit_code = code;
    return;
  }
  const int signal = WTERMSIG(seen.status);
  result->signal = static_cast<std::uint32_t>(signal);
  result->cause = Cause::kSignalled;
  if (signal == SIGKILL && seen.reason != KillReason::kNone) {
    result->cause = cause_of(seen.reason);
  } else if (signal == SIGKILL && seen.oom) {
    result->cause = Cause::kOom;
  } else if ((signal == SIGXCPU || signal == SIGKILL) && seen.cpu_spent) {
    result->cause = Cause::kCpu;
  } else if (signal == SIGXFSZ && seen.file_bounded) {
    result->cause = Cause::kDisk;
  } else if (signal == SIGBUS && seen.disk_full) {  // a write to a mapped file that found no space
    result->cause = Cause::kDisk;
  }
}

Failure file_failure(const Ended& ended, std::string_view path, bool reading) {
  const std::string name(path);
  const std::string why = error_text(ended.error);
  switch (ended.step) {
    case Step::kTooLarge:
      return Failure::rejected(Code::kQuota, "the file " + name + " is larger than was allowed");
    case Step::kNotRegular:
      return Failure::rejected(Code::kInvalidArgument,
                               name + " is not a regular file; links are not followed");
    case Step::kBusy:
      return Failure::rejected(Code::kConflict, "another operation is under way in this sandbox");
    case Step::kOpen: {
      const bool missing = ended.error == ENOENT || ended.error == ENOTDIR;
      return Failure::rejected(missing ? Code::kNotFound : Code::kPermission,
                               "cannot open " + name + ": " + why);
    }
    default: {
      const bool full = ended.error == ENOSPC || ended.error == EDQUOT || ended.error == EFBIG;
      const std::string text = std::string(reading ? "cannot read " : "cannot write ") + name + ": " + why;
      return Failure::failed_clean(full ? Code::kQuota : Code::kInternal, text);
    }
  }
}

}  // namespace

EffectiveLimits merge(EffectiveLimits base, const Limits& over) {
  if (over.cpu_millis != 0) base.cpu_millis = over.cpu_millis;
  if (over.memory_bytes != 0) base.memory_bytes = over.memory_bytes;
  if (over.cpu_time.count() != 0) base.cpu_time = over.cpu_time;
  if (over.disk_bytes != 0) base.disk_bytes = over.disk_bytes;
  if (over.file_size_bytes != 0) base.file_size_bytes = over.file_size_bytes;
  if (over.processes != 0) base.processes = over.processes;
  if (over.open_files != 0) base.open_files = over.open_files;
  return base;
}

Sandbox::Sandbox(SandboxParts parts)
    : parts_(std::move(parts)), started_(std::chrono::steady_clock::now()) {}

// A command may have stricter limits than its sandbox where there is something to keep them with.
void Sandbox::refuse_limits(const EffectiveLimits& limits, StdinSource source) const {
  if (source != StdinSource::kEmpty && source != StdinSource::kInput) {
    throw invalid("the command's standard input comes from a source this provider does not know");
  }
  const auto refuse = [](std::string_view what, std::string_view why) {
    throw Failure::rejected(Code::kUnsupported, "the limit on " + std::string(what) +
                                                    " of a command cannot be kept: " + std::string(why));
  };
  if (limits.memory_bytes < parts_.limits.memory_bytes) {
    refuse("memory", "memory is limited for the sandbox as a whole; set it when it is created");
  }
  if (limits.cpu_millis < parts_.limits.cpu_millis) {
    refuse("CPU share", "it is limited for the sandbox as a whole; set it when it is created");
  }
  if (limits.disk_bytes < parts_.limits.disk_bytes) {
    refuse("disk", "the disk is of the sandbox as a whole; set it when it is created");
  }
  if (limits.cpu_time.count() != 0 && parts_.cgroup.folders().empty()) {
    refuse("CPU time", "the layer cgroup is missing here, which counts it");
  }
}

namespace {

// What a forked interpreter may answer: a file run by what it is. Whether it fits in detail is for the
// interpreter to say, which else starts the program in the ordinary way.
bool is_for_interpreter(const Command& command, std::optional<Interpreter> interpreter) {
  if (!interpreter || command.argv.size() < 2 || command.argv[1].empty()) return false;
  const std::string_view program = command.argv[0];
  const bool option = command.argv[1].front() == '-';
  switch (*interpreter) {
    case Interpreter::kPython: return !option && (program == "python3" || program == "/usr/bin/python3");
    case Interpreter::kNode: return program == "node" && (!option || command.argv.size() > 2);
  }
  return false;
}

}  // namespace

RunResult Sandbox::run(Peer& peer, const Command& command) {
  return perform(peer, command, is_for_interpreter(command, parts_.interpreter) ? kRunInterpreter : 0, {});
}

RunResult Sandbox::run_template(Peer& peer, const Command& command, Interpreter interpreter, Fd control) {
  const std::uint32_t places = interpreter == Interpreter::kNode ? kRunTakesPlaces : 0;
  return perform(peer, command, kRunTemplate | places, std::move(control));
}

RunResult Sandbox::perform(Peer& peer, const Command& command, std::uint32_t flags, Fd control) {
  const EffectiveLimits limits =
      command.limits ? merge(parts_.limits, *command.limits) : parts_.limits;
  refuse_limits(limits, command.stdin_source);
  Arguments arguments = make_arguments(command, parts_.environment);
  const std::lock_guard<std::mutex> turn(turn_);

  ExchangeBounds bounds;
  if (command.timeout.count() > 0) {
    bounds.wall_deadline = std::chrono::steady_clock::now() + command.timeout;
  }
  const auto cpu_ns = static_cast<std::uint64_t>(limits.cpu_time.count());
  if (cpu_ns != 0) bounds.cpu_ns = cpu_ns;
  bounds.output_bytes = parts_.output_kill_bytes;
  const std::uint64_t oom_before = parts_.cgroup.counters().oom_kills.value_or(0);

  Exchange exchange(*this, peer, bounds);
  std::vector<Fd> fds;
  fds.push_back(std::move(arguments.block));
  fds.push_back(exchange.add_input(command.stdin_source == StdinSource::kInput));
  fds.push_back(exchange.add_output(Stream::kStdout));
  fds.push_back(exchange.add_output(Stream::kStderr));
  if (control.valid()) fds.push_back(std::move(control));
  Run request{};
  request.flags = flags;
  request.arguments_bytes = arguments.bytes;
  request.argument_count = arguments.argument_count;
  request.environment_count = arguments.environment_count;
  request.cpu_time_seconds = (cpu_ns + kNanosecondsPerSecond - 1) / kNanosecondsPerSecond;
  request.file_size_bytes = limits.file_size_bytes;
  request.open_files = limits.open_files;
  request.processes = limits.processes;
  // What is forked from a template can only lower these.
  if ((flags & kRunTemplate) != 0) request.open_files = request.processes = UINT64_MAX;
  exchange.perform(request, Kind::kRun, std::move(fds));

  const Ended& ended = exchange.ended();
  if (!exchange.lost() && ended.step != Step::kNone) throw not_started(ended, command);
  reported_cpu_ns_ += ended.cpu_ns;
  forked_runs_ += ended.by_fork;
  reported_peak_bytes_ = std::max(reported_peak_bytes_.load(), ended.memory_peak_bytes);

  Evidence seen;
  seen.lost = exchange.lost();
  seen.ended_by_us = ended_by_us_;
  seen.oom = parts_.cgroup.counters().oom_kills.value_or(0) > oom_before;
  seen.cpu_spent = cpu_ns != 0 && ended.cpu_ns + kNanosecondsPerSecond / 50 >= cpu_ns;
  seen.file_bounded = limits.file_size_bytes != 0;
  seen.disk_full = ended.disk_free_bytes == 0;
  seen.reason = exchange.reason();
  seen.status = ended.status;
  RunResult result;
  judge(seen, &result);
  result.stdout_bytes = exchange.bytes_of(Stream::kStdout);
  result.stderr_bytes = exchange.bytes_of(Stream::kStderr);
  result.usage = usage();
  return result;
}

void Sandbox::put_file(Peer& peer, const PutFile& file) {
  PutRequest request{};
  copy_path(file.path, request.path);
  request.size_bytes = file.size_bytes;
  request.mode = (file.mode == 0 ? 0644u : file.mode) & 0777u;
  const std::lock_guard<std::mutex> turn(turn_);
  Exchange exchange(*this, peer, {});
  std::vector<Fd> fds;
  fds.push_back(exchange.add_input(true));
  exchange.perform(request, Kind::kPutFile, std::move(fds));
  if (exchange.lost()) {
    throw Failure::uncertain(Code::kUnavailable, "the sandbox ended while a file was written");
  }
  if (exchange.reason() == KillReason::kCancelled) throw Operation::cancelled_failure();
  const Ended& ended = exchange.ended();
  if (ended.error == ENODATA || ended.error == EMSGSIZE) {
    throw Failure::failed_clean(Code::kInvalidArgument,
                                "the contents of " + std::string(file.path) + " are not the " +
                                    std::to_string(file.size_bytes) + " bytes that were announced");
  }
  if (ended.step != Step::kNone) throw file_failure(ended, file.path, false);
}

GotFile Sandbox::get_file(Peer& peer, const GetFile& file) {
  GetRequest request{};
  copy_path(file.path, request.path);
  request.max_bytes = file.max_bytes;
  const std::lock_guard<std::mutex> turn(turn_);
  ExchangeBounds bounds;
  bounds.output_bytes = std::max<std::uint64_t>(file.max_bytes, 1);
  Exchange exchange(*this, peer, bounds);
  std::vector<Fd> fds;
  fds.push_back(exchange.add_output(Stream::kFile));
  exchange.perform(request, Kind::kGetFile, std::move(fds));
  if (exchange.lost()) {
    throw Failure::uncertain(Code::kUnavailable, "the sandbox ended while a file was read");
  }
  if (exchange.reason() == KillReason::kCancelled) throw Operation::cancelled_failure();
  const Ended& ended = exchange.ended();
  if (ended.step != Step::kNone) throw file_failure(ended, file.path, true);
  if (exchange.bytes_of(Stream::kFile) != ended.size_bytes) {
    throw Failure::uncertain(Code::kInternal, "the file " + std::string(file.path) +
                                                  " arrived with another length than was announced");
  }
  return GotFile{ended.mode & 07777u, ended.size_bytes};
}

void Sandbox::end() {
  ended_by_us_ = true;
  kill_init();
}

void Sandbox::detach() {
  Detach detach{};
  detach.header = Header{Kind::kDetach, 0, 0};
  send_message(parts_.socket.get(), detach, MSG_DONTWAIT);
  parts_.socket.reset();
}

void Sandbox::adopt(std::string_view name, const EffectiveLimits& limits, Environment environment,
                    std::uint64_t created_unix_ms) {
  parts_.name = name;
  parts_.limits = limits;
  parts_.environment = std::move(environment);
  parts_.created_unix_ms = created_unix_ms;
  if (parts_.startup == Startup::kCold) parts_.startup = Startup::kWarm;
  started_ = std::chrono::steady_clock::now();
}

bool Sandbox::set_lifetime(std::chrono::nanoseconds lifetime) const {
  ::berth::local::Lifetime request{};
  request.header = Header{Kind::kLifetime, 0, 0};
  request.lifetime_ns = static_cast<std::uint64_t>(lifetime.count());
  return send_message(parts_.socket.get(), request, MSG_DONTWAIT) == 0;
}

void Sandbox::kill_init() const {
  kill_process(parts_.pidfd);
}

bool Sandbox::wait_gone(std::chrono::milliseconds timeout) const {
  return wait_ended(parts_.pidfd, std::chrono::steady_clock::now() + timeout);
}

Usage Sandbox::usage() const {
  const CgroupCounters counters = parts_.cgroup.counters();
  Usage usage;
  usage.epoch = parts_.created_unix_ms;
  usage.wall_ns = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - started_).count());
  usage.cpu_ns = counters.cpu_ns.value_or(reported_cpu_ns_);
  usage.memory_peak_bytes = counters.memory_peak_bytes.value_or(reported_peak_bytes_);
  usage.network_egress_bytes = 0;
  return usage;
}

}  // namespace berth::local
