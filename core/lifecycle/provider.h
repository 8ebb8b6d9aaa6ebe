// Provider: what the lifecycle needs of a loaded sandbox provider. core/plugin implements it over a
// worker process or in process; the simulator implements it over a model.
//
// Every method is one operation. The contract of every implementation:
//  - The task completes exactly once, at the latest shortly after the context's deadline (the
//    implementation's grace), at once when the cancellation is abandoned. Until then it may be
//    awaited for long.
//  - What is not known is UNCERTAIN with a host code; nothing is thrown.
//  - An answer that arrives after the task completed goes to the LateAnswers listener.
// All of it happens on the event loop's thread.
#ifndef BERTH_CORE_LIFECYCLE_PROVIDER_H_
#define BERTH_CORE_LIFECYCLE_PROVIDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/task.h"
#include "core/base/time.h"
#include "core/lifecycle/cancellation.h"
#include "core/lifecycle/outcome.h"

namespace berth {

// Where allocations live: (field, value) in the manifest's order. Non-secret. Compared whole.
using Scope = std::vector<std::pair<std::string, std::string>>;

enum class Recovery { kFence, kManual };
enum class Streams { kSeparate, kCombined };

struct ProviderIdentity {
  std::string id;
  std::string version;
  std::string digest;  // SHA-256 of the shared object, hexadecimal
  Recovery recovery = Recovery::kManual;
  Streams streams = Streams::kSeparate;
};

// How one operation is to be carried out. Everything in it outlives the operation.
struct OperationContext {
  Instant deadline;
  Cancellation* cancellation = nullptr;                 // null: cannot be cancelled
  std::function<void(std::string_view)> on_stage = {};  // may be empty
};

template <class T>
struct Answer {
  Outcome outcome;
  T value{};  // meaningful with DONE only
};

struct Nothing {};

// Counters since `epoch`; an absent one was not measured, which is not zero.
struct UsageCounters {
  std::uint64_t epoch = 0;
  std::optional<std::uint64_t> wall_ns;
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> memory_peak_bytes;
  std::optional<std::uint64_t> network_egress_bytes;
  std::optional<std::uint64_t> cost_micro_usd;
};

struct ProbeItem {
  bool ok = false;
  std::string name;
  std::string detail;
  std::string remedy;
};

struct CapabilityProbe {
  std::string id;
  bool available = false;
  std::string reason;
};

struct ProbeReport {
  bool usable = false;
  std::string backend;
  std::vector<CapabilityProbe> capabilities;
  std::vector<ProbeItem> items;
};

enum class Network { kNone, kOpen };

// Zero means the provider's default.
struct Limits {
  std::uint32_t cpu_millis = 0;
  std::uint32_t processes = 0;
  std::uint32_t open_files = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t file_size_bytes = 0;
  Duration cpu_time{0};
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct CreateSpec {
  std::string owner_tag;
  Duration lifetime = std::chrono::minutes(10);
  std::vector<std::string> languages;
  std::string image;
  Limits limits;
  Network network = Network::kNone;
  Environment env;
};

struct Created {
  std::string name;
  std::string ref;
  Scope scope;
};

enum class Presence { kUnknown, kPresent, kInProgress, kAbsentNow, kAbsentFenced };
enum class SandboxState { kUnknown, kStarting, kReady, kStopped, kBroken };

struct Found {
  Presence presence = Presence::kUnknown;
  SandboxState state = SandboxState::kUnknown;
  std::string name;
  std::string ref;
  Scope scope;
  std::optional<WallTime> created_at;
};

enum class Stream { kStdout, kStderr, kFile };

// Takes what a program or a file gives. Called on the loop; must not block.
class OutputSink {
 public:
  enum class Flow {
    kContinue,
    kPause,  // taken; nothing more until resume is called
    kLimit,  // this stream's cap is reached: the rest is only counted
  };
  virtual ~OutputSink() = default;
  virtual Flow write(Stream stream, std::string_view bytes) = 0;
  // Before the first write: what to call once paused output may continue.
  virtual void on_resume(std::function<void()> resume) = 0;
};

// Gives what a program or a file takes. Called on the loop; must not block.
class InputSource {
 public:
  enum class State { kData, kEnd, kAgain };
  virtual ~InputSource() = default;
  // Appends at most `bytes_max` bytes to `into`. With kAgain, `ready` given to on_ready is called
  // once there is more.
  virtual State read(std::string& into, std::size_t bytes_max) = 0;
  virtual void on_ready(std::function<void()> ready) = 0;
};

struct Command {
  std::vector<std::string> argv;
  std::string cwd;  // empty: the provider's work folder
  Environment env;
  Duration timeout{0};  // 0: none but the operation's deadline
  std::uint64_t stdout_cap_bytes = 0;
  std::uint64_t stderr_cap_bytes = 0;
  Limits limits;
  InputSource* input = nullptr;  // null: standard input is at its end at once
};

enum class Cause {
  kUnknown,
  kExited,
  kSignalled,
  kOom,
  kWall,
  kCpu,
  kOutput,
  kDisk,
  kCancelled,
  kLost,
};
std::string_view to_string(Cause cause);

struct RunEnd {
  Cause cause = Cause::kUnknown;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::uint64_t stdout_bytes = 0;  // produced, kept or not
  std::uint64_t stderr_bytes = 0;
  UsageCounters usage;
};

struct PutFile {
  std::string path;
  std::uint32_t mode = 0644;
  std::uint64_t size_bytes = 0;
};

struct GetFile {
  std::string path;
  std::uint64_t bytes_max = 0;
};

struct FileGot {
  std::uint32_t mode = 0;
  std::uint64_t size_bytes = 0;
};

struct Destroyed {
  UsageCounters usage;
};

struct Listed {
  std::string name;
  std::string ref;
  std::string holder;
  SandboxState state = SandboxState::kUnknown;
  std::optional<WallTime> created_at;
};

// A reply that came after its operation had been given up. Evidence; never dropped.
struct LateAnswer {
  std::string slot;  // "create", "destroy", ...
  std::string name;  // the sandbox's name where the slot has one
  Outcome outcome;
  std::string ref;  // a create's reference, when it came
};

class Provider {
 public:
  virtual ~Provider() = default;

  virtual const ProviderIdentity& identity() const = 0;
  virtual void on_late_answer(std::function<void(LateAnswer)> listener) = 0;

  virtual Task<Answer<ProbeReport>> probe(OperationContext context) = 0;
  virtual Task<Answer<Scope>> scope(OperationContext context) = 0;
  virtual Task<Answer<Created>> create(OperationContext context, std::string name,
                                       CreateSpec spec) = 0;
  virtual Task<Answer<Found>> lookup(OperationContext context, std::string name) = 0;
  // With recovery kManual: REJECTED with code kUnsupported.
  virtual Task<Answer<Found>> fence(OperationContext context, std::string name) = 0;
  virtual Task<Answer<RunEnd>> run(OperationContext context, std::string ref, Command command,
                                   OutputSink& output) = 0;
  virtual Task<Answer<Nothing>> put_file(OperationContext context, std::string ref, PutFile file,
                                         InputSource& input) = 0;
  virtual Task<Answer<FileGot>> get_file(OperationContext context, std::string ref, GetFile file,
                                         OutputSink& output) = 0;
  virtual Task<Answer<Destroyed>> destroy(OperationContext context, std::string name,
                                          std::string ref) = 0;
  // All pages, at most 65 536 items; more is UNCERTAIN with a message.
  virtual Task<Answer<std::vector<Listed>>> list_owned(OperationContext context,
                                                       std::string owner_tag) = 0;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_PROVIDER_H_
