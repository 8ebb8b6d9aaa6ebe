// One living sandbox, as the process that made it holds it: the socket to its init, a descriptor of
// process 1, its control groups. Closing the socket without detach() ends the sandbox.
//
// Thread safety: one operation at a time may use run, put_file and get_file; end() and the questions
// may be called beside it from any thread; detach() only when nothing else is.
#ifndef BERTH_PLUGINS_LOCAL_SANDBOX_H_
#define BERTH_PLUGINS_LOCAL_SANDBOX_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/host.hpp"
#include "berth/values.hpp"
#include "cgroup.h"
#include "fd.h"
#include "peer.h"
#include "wire.h"

namespace berth::local {

inline constexpr char kWorkFolder[] = "/workspace";

// What a template is made of.
enum class Interpreter { kPython, kNode };
inline constexpr Interpreter kInterpreters[] = {Interpreter::kPython, Interpreter::kNode};
inline constexpr std::size_t kInterpreterCount = 2;

constexpr std::size_t index_of(Interpreter interpreter) { return static_cast<std::size_t>(interpreter); }
constexpr const char* interpreter_name(Interpreter interpreter) {
  return interpreter == Interpreter::kPython ? "python3" : "node";
}
// As the contract calls what it runs.
constexpr const char* language_name(Interpreter interpreter) {
  return interpreter == Interpreter::kPython ? "python" : "javascript";
}

// How a sandbox came to be: made on request, made ahead, or made with an interpreter out of a template,
// ahead or not.
enum class Startup { kCold, kWarm, kTemplate };

constexpr const char* startup_name(Startup startup) {
  return startup == Startup::kTemplate ? "template" : startup == Startup::kWarm ? "warm" : "cold";
}

// Every limit with a number in it.
struct EffectiveLimits {
  std::uint32_t cpu_millis = 0;
  std::uint64_t memory_bytes = 0;
  std::chrono::nanoseconds cpu_time{0};  // of one command; 0: none
  std::uint64_t disk_bytes = 0;
  std::uint64_t file_size_bytes = 0;  // 0: the disk is the only limit
  std::uint32_t processes = 0;
  std::uint32_t open_files = 0;

  bool operator==(const EffectiveLimits&) const = default;
};

// `over` wins where it says something.
EffectiveLimits merge(EffectiveLimits base, const Limits& over);

struct SandboxParts {
  std::string name;
  Fd socket;
  Fd pidfd;
  Fd user_namespace;  // of a template
  SandboxCgroup cgroup;
  EffectiveLimits limits;
  std::vector<std::pair<std::string, std::string>> environment;
  std::uint64_t output_kill_bytes = 0;  // a command that wrote more than this is ended
  std::uint64_t created_unix_ms = 0;
  Startup startup = Startup::kCold;
  std::optional<Interpreter> interpreter;  // that was forked with it
};

class Sandbox {
 public:
  explicit Sandbox(SandboxParts parts);

  RunResult run(Peer& peer, const Command& command);
  // Runs a template, which talks over `control` and whose end is not the end of what it made.
  RunResult run_template(Peer& peer, const Command& command, Interpreter interpreter, Fd control);
  void put_file(Peer& peer, const PutFile& file);
  GotFile get_file(Peer& peer, const GetFile& file);

  // Ends every process, whatever they do. Returns at once.
  void end();

  // The provider leaves in order: the sandbox lives on, without anyone to run something in it, until
  // it is destroyed by name or its lifetime is over.
  void detach();

  // A sandbox that was made ahead gets the name and the settings of an allocation. Before anyone uses it.
  void adopt(std::string_view name, const EffectiveLimits& limits,
             std::vector<std::pair<std::string, std::string>> environment, std::uint64_t created_unix_ms);

  // Another lifetime from now on. False when the sandbox is gone.
  bool set_lifetime(std::chrono::nanoseconds lifetime) const;

  // Waits until process 1 is gone. False when it is not in time.
  bool wait_gone(std::chrono::milliseconds timeout) const;

  Usage usage() const;
  const SandboxCgroup& cgroup() const { return parts_.cgroup; }
  const std::string& name() const { return parts_.name; }
  const EffectiveLimits& limits() const { return parts_.limits; }
  int pidfd() const { return parts_.pidfd.get(); }
  int user_namespace() const { return parts_.user_namespace.get(); }
  Startup startup() const { return parts_.startup; }
  std::optional<Interpreter> interpreter() const { return parts_.interpreter; }
  // How many commands a forked interpreter ran.
  std::uint64_t forked_runs() const { return forked_runs_; }

 private:
  friend class Exchange;

  void kill_init() const;
  void refuse_limits(const EffectiveLimits& limits, StdinSource source) const;
  RunResult perform(Peer& peer, const Command& command, std::uint32_t flags, Fd control);

  SandboxParts parts_;
  std::mutex turn_;
  std::atomic<bool> ended_by_us_{false};
  std::atomic<std::uint64_t> next_id_{1};
  // Where no control group counts: what the init reported, added up.
  std::atomic<std::uint64_t> reported_cpu_ns_{0};
  std::atomic<std::uint64_t> reported_peak_bytes_{0};
  std::atomic<std::uint64_t> forked_runs_{0};
  std::chrono::steady_clock::time_point started_;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_SANDBOX_H_
