// SPDX-License-Identifier: Apache-2.0
//
// The arguments a provider receives and the results it returns, as C++ values.
//
// Arguments are views: their text belongs to the operation and lives until it completes, so a slot
// may keep them while it runs and must copy what it keeps longer. Results own their text. Durations
// and sizes carry their unit in the type or in the name. Nothing here is shared between threads.
#ifndef BERTH_VALUES_HPP
#define BERTH_VALUES_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/abi.h"

namespace berth {
inline namespace sdk_v1 {

// ---- arguments

struct PairView {
  std::string_view key;
  std::string_view value;
};

struct OpenSpec {
  std::string_view config_json;  // one canonical JSON object, validated by the host
  std::string_view state_dir;    // private to this provider, outlives the process
  std::string_view owner_tag;    // put on every resource
};

// Zero means the provider's default.
struct Limits {
  std::uint32_t cpu_millis = 0;
  std::uint64_t memory_bytes = 0;
  std::chrono::nanoseconds cpu_time{0};
  std::uint64_t disk_bytes = 0;
  std::uint64_t file_size_bytes = 0;
  std::uint32_t processes = 0;
  std::uint32_t open_files = 0;

  // `limits != Limits{}`: any was asked for.
  friend bool operator==(const Limits&, const Limits&) = default;
};

enum class Network : std::uint32_t { kNone = BERTH_NETWORK_NONE, kOpen = BERTH_NETWORK_OPEN };

struct CreateSpec {
  Network network = Network::kNone;
  std::string_view owner_tag;
  std::chrono::nanoseconds lifetime{0};  // the sandbox ends by itself after this
  std::vector<std::string_view> languages;
  std::string_view image;  // empty: the provider's default
  Limits limits;
  std::vector<PairView> env;
};

enum class StdinSource : std::uint32_t { kEmpty = BERTH_STDIN_EMPTY, kInput = BERTH_STDIN_INPUT };

struct Command {
  StdinSource stdin_source = StdinSource::kEmpty;
  std::vector<std::string_view> argv;
  std::string_view cwd;  // empty: the provider's work folder
  std::vector<PairView> env;
  std::chrono::nanoseconds timeout{0};  // zero: none of its own
  std::uint64_t stdout_cap_bytes = 0;   // what the host will keep; zero: no cap
  std::uint64_t stderr_cap_bytes = 0;
  std::optional<Limits> limits;
};

struct PutFile {
  std::string_view path;
  std::uint32_t mode = 0644;
  std::uint64_t size_bytes = 0;
};

struct GetFile {
  std::string_view path;
  std::uint64_t max_bytes = 0;
};

// ---- results

// Non-secret fields in the order of the manifest's scopeFields.
using Scope = std::vector<std::pair<std::string, std::string>>;

// Monotone counters since `epoch`; a counter that is not measured stays unknown.
struct Usage {
  std::uint64_t epoch = 0;
  std::uint64_t wall_ns = BERTH_USAGE_UNKNOWN;
  std::uint64_t cpu_ns = BERTH_USAGE_UNKNOWN;
  std::uint64_t memory_peak_bytes = BERTH_USAGE_UNKNOWN;
  std::uint64_t network_egress_bytes = BERTH_USAGE_UNKNOWN;
  std::uint64_t cost_micro_usd = BERTH_USAGE_UNKNOWN;
};

struct Capability {
  std::string id;
  bool available = false;
  std::string reason;  // when not available: what is missing and how to mend it
};

struct ProbeItem {
  std::string name;
  bool ok = false;
  std::string detail;
  std::string remedy;  // when not ok
};

struct ProbeReport {
  bool usable = false;
  std::string backend;
  std::vector<Capability> capabilities;
  std::vector<ProbeItem> items;
};

struct Created {
  std::string name;  // what was recorded as the name, read back where the service allows it
  std::string ref;
  Scope scope;
};

enum class Presence : std::uint32_t {
  kUnknown = BERTH_PRESENCE_UNKNOWN,
  kPresent = BERTH_PRESENCE_PRESENT,
  kInProgress = BERTH_PRESENCE_IN_PROGRESS,
  kAbsentNow = BERTH_PRESENCE_ABSENT_NOW,
  kAbsentFenced = BERTH_PRESENCE_ABSENT_FENCED,
};

enum class SandboxState : std::uint32_t {
  kUnknown = BERTH_STATE_UNKNOWN,
  kStarting = BERTH_STATE_STARTING,
  kReady = BERTH_STATE_READY,
  kStopped = BERTH_STATE_STOPPED,
  kBroken = BERTH_STATE_BROKEN,
};

// The answer of lookup and fence. The default is the answer that loses nothing: not known.
struct Found {
  Presence presence = Presence::kUnknown;
  SandboxState state = SandboxState::kUnknown;
  std::string name;
  std::string ref;
  Scope scope;
  std::uint64_t created_unix_ms = 0;  // zero: not known
};

enum class Cause : std::uint32_t {
  kUnknown = BERTH_CAUSE_UNKNOWN,
  kExited = BERTH_CAUSE_EXITED,
  kSignalled = BERTH_CAUSE_SIGNALLED,
  kOom = BERTH_CAUSE_OOM,
  kWall = BERTH_CAUSE_WALL,
  kCpu = BERTH_CAUSE_CPU,
  kOutput = BERTH_CAUSE_OUTPUT,
  kDisk = BERTH_CAUSE_DISK,
  kCancelled = BERTH_CAUSE_CANCELLED,
  kLost = BERTH_CAUSE_LOST,
};

struct RunResult {
  Cause cause = Cause::kUnknown;
  std::int32_t exit_code = -1;  // with kExited, else -1
  std::uint32_t signal = 0;
  std::uint64_t stdout_bytes = 0;  // produced by the program, kept or not
  std::uint64_t stderr_bytes = 0;
  std::optional<Usage> usage;
};

struct GotFile {
  std::uint32_t mode = 0;
  std::uint64_t size_bytes = 0;
};

struct Destroyed {
  std::optional<Usage> usage;  // of the sandbox's whole life
};

struct Listed {
  std::string name;  // empty for a resource that carries the tag but was never named
  std::string ref;
  SandboxState state = SandboxState::kUnknown;
  std::uint64_t created_unix_ms = 0;
  std::string holder;
};

struct ListPage {
  std::vector<Listed> items;
  std::string next_cursor;  // empty: this is all there is
};

}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_VALUES_HPP
