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

// Every limit with a number in it.
struct EffectiveLimits {
  std::uint32_t cpu_millis = 0;
  std::uint64_t memory_bytes = 0;
  std::chrono::nanoseconds cpu_time{0};  // of one command; 0: none
  std::uint64_t disk_bytes = 0;
  std::uint64_t file_size_bytes = 0;  // 0: the disk is the only limit
  std::uint32_t processes = 0;
  std::uint32_t open_files = 0;
};

// `over` wins where it says something.
EffectiveLimits merge(EffectiveLimits base, const Limits& over);

struct SandboxParts {
  std::string name;
  Fd socket;
  Fd pidfd;
  SandboxCgroup cgroup;
  EffectiveLimits limits;
  std::vector<std::pair<std::string, std::string>> environment;
  std::uint64_t output_kill_bytes = 0;  // a command that wrote more than this is ended
  std::uint64_t created_unix_ms = 0;
};

class Sandbox {
 public:
  explicit Sandbox(SandboxParts parts);

  RunResult run(Peer& peer, const Command& command);
  void put_file(Peer& peer, const PutFile& file);
  GotFile get_file(Peer& peer, const GetFile& file);

  // Ends every process, whatever they do. Returns at once.
  void end();

  // The provider leaves in order: the sandbox lives on, without anyone to run something in it, until
  // it is destroyed by name or its lifetime is over.
  void detach();

  // Waits until process 1 is gone. False when it is not in time.
  bool wait_gone(std::chrono::milliseconds timeout) const;

  Usage usage() const;
  const SandboxCgroup& cgroup() const { return parts_.cgroup; }
  const std::string& name() const { return parts_.name; }

 private:
  friend class Exchange;

  void kill_init() const;
  void refuse_limits(const EffectiveLimits& limits, StdinSource source) const;

  SandboxParts parts_;
  std::mutex turn_;
  std::atomic<bool> ended_by_us_{false};
  std::atomic<std::uint64_t> next_id_{1};
  // Where no control group counts: what the init reported, added up.
  std::atomic<std::uint64_t> reported_cpu_ns_{0};
  std::atomic<std::uint64_t> reported_peak_bytes_{0};
  std::chrono::steady_clock::time_point started_;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_SANDBOX_H_
