// What the provider, its launcher and the init of a sandbox say to each other.
//
// Every message is one datagram of a SOCK_SEQPACKET socket: one of the plain structs below, at most
// kMessageMaxBytes, descriptors attached. Sender and receiver are built together, so the layout needs
// no versioning; but the init runs beside foreign code, so the provider checks size, type, id and
// every number of what it receives, and never waits for it without a bound.
//
// Flow control: a sandbox has kCredits credits. A request takes one, its Ended message gives it back,
// so neither side can ever fill the other's socket buffer. Bulk bytes (output, input, files) do not
// travel here at all but through pipes the provider makes, where the kernel does the flow control.
#ifndef BERTH_PLUGINS_LOCAL_WIRE_H_
#define BERTH_PLUGINS_LOCAL_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace berth::local {

inline constexpr std::size_t kMessageMaxBytes = 8192;
inline constexpr std::size_t kPathMaxBytes = 4096;
inline constexpr std::size_t kTextMaxBytes = 256;
inline constexpr std::size_t kHostNameMaxBytes = 64;
inline constexpr std::size_t kCgroupDirsMax = 8;
// argv, environment and working folder of one command together, as on Linux.
inline constexpr std::size_t kArgumentsMaxBytes = 2 * 1024 * 1024;
// Operations open at once in one sandbox. One, because the end of a command ends every process of the
// sandbox with a single kill that nothing can outrun.
inline constexpr std::uint32_t kCredits = 1;

// The walls of a sandbox, each with a name that configuration, errors and reports share.
enum class Layer : std::uint32_t {
  kUser = 0,
  kPid,
  kMount,
  kNet,
  kIpc,
  kUts,
  kCgroupNamespace,
  kTime,
  kCapabilities,
  kSeccomp,
  kLandlock,
  kCgroup,
  kRlimit,
  kDescriptors,
};
inline constexpr std::uint32_t kLayerCount = 14;

constexpr std::uint32_t bit(Layer layer) { return 1u << static_cast<std::uint32_t>(layer); }

// The layers the rest can do without, where the configuration accepts it. The others are what a sandbox
// is.
inline constexpr std::uint32_t kAcceptableLayers =
    bit(Layer::kNet) | bit(Layer::kIpc) | bit(Layer::kUts) | bit(Layer::kCgroupNamespace) |
    bit(Layer::kTime) | bit(Layer::kSeccomp) | bit(Layer::kLandlock) | bit(Layer::kCgroup);

constexpr const char* layer_name(Layer layer) {
  switch (layer) {
    case Layer::kUser: return "user";
    case Layer::kPid: return "pid";
    case Layer::kMount: return "mount";
    case Layer::kNet: return "net";
    case Layer::kIpc: return "ipc";
    case Layer::kUts: return "uts";
    case Layer::kCgroupNamespace: return "cgroupns";
    case Layer::kTime: return "time";
    case Layer::kCapabilities: return "capabilities";
    case Layer::kSeccomp: return "seccomp";
    case Layer::kLandlock: return "landlock";
    case Layer::kCgroup: return "cgroup";
    case Layer::kRlimit: return "rlimit";
    case Layer::kDescriptors: return "descriptors";
  }
  return "unknown";
}

enum class Kind : std::uint32_t {
  kNone = 0,
  kProbe,        // provider -> launcher
  kProbed,       // launcher -> provider
  kCreate,       // provider -> launcher, with descriptors
  kCreated,      // launcher -> provider, with a pidfd
  kReady,        // init -> provider
  kRun,          // provider -> init, descriptors: arguments, stdin, stdout, stderr
  kPutFile,      // provider -> init, descriptor: the pipe to read from
  kGetFile,      // provider -> init, descriptor: the pipe to write to
  kKill,         // provider -> init: end whatever runs
  kDetach,       // provider -> init: the provider leaves in order; live on until the lifetime is over
  kLifetime,     // provider -> init: from now on this long
  kFork,         // launcher -> template: a Create, with descriptors
  kForked,       // the new process of a template -> launcher
  kWarm,         // template -> provider: everything is imported
  kEnded,        // init -> provider
};

struct Header {
  Kind kind;
  std::uint32_t reserved;
  std::uint64_t id;
};

struct LayerFailure {
  Layer layer;
  std::int32_t error;  // errno; 0 means no failure
  char text[kTextMaxBytes];
};

struct LayerProbe {
  std::int32_t error;   // 0: works
  std::uint32_t level;  // landlock: the ABI level
};

struct Probed {
  Header header;
  LayerProbe layers[kLayerCount];
};

// Descriptors of a Create, in this order: the init's socket, the liveness lock (open read-only, with
// the lock held), the pid file (write-only), then as `descriptor_flags` says the identity lock, the v2
// folder, the control socket of a template with its user namespace, and `tasks` of one group per v1
// hierarchy.
inline constexpr std::uint32_t kHasIdentityLock = 1;
inline constexpr std::uint32_t kHasUnifiedFolder = 2;
inline constexpr std::uint32_t kHasTemplate = 4;
inline constexpr std::size_t kCreateFdsMax = 7 + kCgroupDirsMax;

// Where a clock of a sandbox begins, when not where that of every fresh one does, and how far the clock it
// is forked beneath is ahead of the host's. A template fills it in for its sandboxes.
struct ClockStart {
  std::int64_t ahead_ns;
  std::int64_t first_ns;  // 0: as in every fresh sandbox
};
struct ClockStarts {
  ClockStart of[2];  // monotonic, boottime
};

struct Create {
  Header header;
  std::uint32_t descriptor_flags;
  std::uint32_t cgroup_tasks_count;
  std::uint32_t skipped_layers;  // accepted by the configuration as missing here
  std::uint32_t outer_id;        // the identity outside; meaningful when privileged
  std::uint32_t inner_id;        // the identity programs see
  std::uint32_t privileged;      // 1: the launcher may map any identity
  std::uint64_t disk_bytes;      // everything writable together
  std::uint64_t disk_inodes;
  std::uint64_t lifetime_ns;
  // 1: a template lives in it, from which other sandboxes are made: it may make namespaces and mounts,
  // and has mapped every identity of the range, so that the others get one each.
  std::uint32_t is_template;
  std::uint32_t identity_base;
  std::uint32_t identity_count;
  std::uint32_t made_ahead;  // 1: nobody waits for it; what forks may take its time to make them quick
  ClockStarts clocks;
  char host_name[kHostNameMaxBytes];
};

// Descriptors of a Fork: the init's socket, the liveness lock, the gate, the helper binary, then the
// identity lock where there is one, and the groups that the new process joins by itself: as many as
// `cgroup_tasks_count` says, `tasks` of version 1 and `cgroup.procs` of version 2. The answer, a Forked, comes from the new process itself, so that
// the kernel says which it is, or from the template when it could not be made.
struct Forked {
  Header header;
  LayerFailure failure;
};

// Descriptors of the answer: a pidfd, and for a template its user namespace.
struct LaunchAnswer {
  Header header;
  std::int32_t pid;
  std::uint32_t reserved;
  std::uint64_t start_time;  // field 22 of /proc/<pid>/stat
  LayerFailure failure;
};

struct Ready {
  Header header;
  std::uint32_t layers;  // those in force
  std::uint32_t landlock_abi;
  LayerFailure failure;
};

// Answered by the forked interpreter where one waits; else as any other.
inline constexpr std::uint32_t kRunInterpreter = 1;
// The template itself: a fifth descriptor is its control socket, and its end ends nothing else.
inline constexpr std::uint32_t kRunTemplate = 2;
// With it: the places after the control socket are taken up to those an init keeps, so that what an
// interpreter opens by itself is above them and stays in its forks.
inline constexpr std::uint32_t kRunTakesPlaces = 4;
// Where a template finds its control socket.
inline constexpr int kTemplateControl = 3;

struct Run {
  Header header;
  std::uint32_t flags;
  std::uint32_t reserved;
  std::uint64_t arguments_bytes;
  std::uint32_t argument_count;
  std::uint32_t environment_count;
  std::uint64_t cpu_time_seconds;  // 0: unlimited
  std::uint64_t file_size_bytes;
  std::uint64_t open_files;
  std::uint64_t processes;
};

struct PutRequest {
  Header header;
  std::uint64_t size_bytes;
  std::uint32_t mode;
  std::uint32_t reserved;
  char path[kPathMaxBytes + 1];
};

struct GetRequest {
  Header header;
  std::uint64_t max_bytes;
  char path[kPathMaxBytes + 1];
};

struct Kill {
  Header header;
};

struct Detach {
  Header header;
};

struct Lifetime {
  Header header;
  std::uint64_t lifetime_ns;
};

// How far a command or a file operation came before it failed.
enum class Step : std::uint32_t {
  kNone = 0,
  kFork,
  kDescriptors,
  kLimits,
  kFolder,
  kExec,
  kOpen,
  kNotRegular,
  kTooLarge,
  kTransfer,
  kCommit,
  kBusy,
};

struct Ended {
  Header header;
  std::int32_t status;  // as wait(2) gives it
  std::int32_t error;   // errno of `step`; 0 when the program was started or the file moved
  Step step;
  std::uint32_t mode;
  std::uint32_t by_fork;  // 1: the interpreter of the template ran it
  std::uint32_t reserved;
  std::uint64_t size_bytes;
  std::uint64_t cpu_ns;  // of the command and everything it left behind
  std::uint64_t disk_free_bytes;  // when the program ended, before what it left behind did
  std::uint64_t memory_peak_bytes;
};

static_assert(std::is_trivially_copyable_v<Create> && sizeof(PutRequest) <= kMessageMaxBytes &&
              sizeof(GetRequest) <= kMessageMaxBytes && sizeof(Create) <= kMessageMaxBytes);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_WIRE_H_
