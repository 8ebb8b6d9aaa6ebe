#include "allocations.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "helper/channel.h"
#include "identity.h"
#include "process_handle.h"
#include "request.h"

namespace berth::local {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kReferencePrefix = "local/";
constexpr milliseconds kReadyPatience{30'000};
constexpr milliseconds kUndoPatience{10'000};
constexpr std::chrono::nanoseconds kDefaultLifetime = std::chrono::minutes(10);
// The init and the child that moves a file count as processes too.
constexpr std::uint64_t kOwnProcesses = 2;
constexpr std::size_t kPageItems = 256;

Failure invalid(std::string message) {
  return Failure::rejected(Code::kInvalidArgument, std::move(message));
}

void check_name(std::string_view name) {
  if (!valid_name(name)) {
    throw invalid("a sandbox name is 1 to 64 characters of a-z, 0-9 and '-', not '" +
                  std::string(name.substr(0, 100)) + "'");
  }
}

std::uint64_t unix_milliseconds() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

std::string one_line(const std::string& path) {
  std::string text = read_small_file(path, 256).value_or("");
  return text.substr(0, text.find('\n'));
}

// Tells machines apart without giving the machine id away.
std::string machine_fingerprint() {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : "berth" + one_line("/etc/machine-id")) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string layer_sentence(Layer layer, std::string_view why) {
  return "the isolation layer " + std::string(layer_name(layer)) + " is missing: " + std::string(why);
}

std::string remedy_of(Layer layer) {
  if (acceptable_layer(layer_name(layer))) {
    return "; mend it, or accept its absence by naming it in acceptMissingLayers";
  }
  return "; no sandbox can be made without it";
}

}  // namespace

// What a create has made so far and gives back when it fails.
struct Allocations::Making {
  Record record;
  EffectiveLimits limits;
  SandboxCgroup cgroup;
  std::uint32_t skipped = 0;
  std::optional<Identity> identity;
  std::optional<Claim> claim;
};

std::string reference_of(std::string_view name) { return std::string(kReferencePrefix) + std::string(name); }

Allocations::Allocations(Config config, std::string state_dir, std::string owner_tag)
    : config_(std::move(config)),
      owner_tag_(std::move(owner_tag)),
      privileged_(geteuid() == 0),
      identity_folder_("/run/berth/identities"),
      boot_id_(one_line("/proc/sys/kernel/random/boot_id")),
      store_(std::move(state_dir)),
      cgroups_(CgroupTree::detect(config_.cgroup_parent, store_.installation_id())) {
  const std::string problem = launcher_.start();
  if (!problem.empty()) throw Failure::rejected(Code::kUnavailable, problem);
  store_.tidy();
  examine_layers();
  remove_dead_trials();
}

Allocations::~Allocations() {
  for (const auto& [name, sandbox] : held_) sandbox->detach();
  held_.clear();
  cgroups_.release();
}

// Left by a provider that was killed while it tried the machine out.
void Allocations::remove_dead_trials() {
  for (const std::string& name : store_.names()) {
    if (!name.starts_with(kTrialPrefix) || store_.liveness(name) != Liveness::kDead) continue;
    try {
      destroy(name, std::chrono::seconds(5));
    } catch (const Failure&) {
      // What does not end now is tried again at the next opening; it is in nobody's way.
    }
  }
}

void Allocations::examine_layers() {
  const Probed probed = launcher_.probe();
  const auto missing = [&](Layer layer, const std::string& why) {
    layers_.missing |= bit(layer);
    layers_.sentences[static_cast<std::uint32_t>(layer)] = why;
  };
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (probed.layers[i].error != 0) missing(layer, error_text(probed.layers[i].error));
  }
  layers_.landlock_level = probed.layers[static_cast<std::uint32_t>(Layer::kLandlock)].level;
  const std::string cgroup_problem = cgroups_.try_out();
  if (!cgroup_problem.empty()) missing(Layer::kCgroup, cgroup_problem);
}

void Allocations::refuse_missing_layers() const {
  const std::uint32_t refused = layers_.missing & ~config_.accepted_missing;
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if ((refused & bit(layer)) == 0) continue;
    throw Failure::rejected(Code::kUnsupported,
                            layer_sentence(layer, layers_.sentences[i]) + remedy_of(layer));
  }
}

Scope Allocations::scope() const {
  return {{"host", machine_fingerprint()},
          {"user", std::to_string(geteuid())},
          {"state", store_.installation_id()}};
}

std::shared_ptr<Sandbox> Allocations::create(std::string_view name, const CreateSpec& spec) {
  check_name(name);
  Making making;
  making.limits = merge(config_.limits, spec.limits);
  making.limits.disk_bytes = disk_within_memory(making.limits);
  check_request(spec, making.limits);
  refuse_missing_layers();
  making.skipped = layers_.missing | config_.left_out;
  const bool wants_cgroup = spec.limits.memory_bytes != 0 || spec.limits.cpu_millis != 0;
  if (wants_cgroup && (making.skipped & bit(Layer::kCgroup)) != 0) {
    throw Failure::rejected(Code::kUnsupported,
                            "limits on memory and CPU cannot be kept: " +
                                layer_sentence(Layer::kCgroup, layers_.sentences[static_cast<std::uint32_t>(
                                                                   Layer::kCgroup)]));
  }
  if ((making.skipped & bit(Layer::kCgroup)) == 0) making.cgroup = cgroups_.sandbox(name);
  if (privileged_) {
    making.identity = take_identity(identity_folder_, config_.identity_base, config_.identity_count);
    if (!making.identity) {
      throw Failure::rejected(Code::kQuota, "no identity is free below " + identity_folder_ +
                                                "; raise identityCount or end sandboxes");
    }
  }
  Record& record = making.record;
  record.name = name;
  record.owner_tag = spec.owner_tag;
  record.holder = one_line("/proc/sys/kernel/hostname") + "/" + std::to_string(getpid());
  record.boot_id = boot_id_;
  record.layers = layer_names(((1u << kLayerCount) - 1) & ~making.skipped);
  record.created_unix_ms = unix_milliseconds();
  record.outer_id = making.identity ? making.identity->id : geteuid();
  record.cgroup_folders = making.cgroup.folders();
  making.claim = store_.claim(record);
  if (!making.claim) return existing(name, spec.owner_tag);
  try {
    return launch(name, spec, &making);
  } catch (const Failure& failure) {
    making.claim.reset();
    making.identity.reset();
    if (!end_and_clean(name, record, Clock::now() + kUndoPatience)) {
      throw Failure::failed_dirty(failure.code(), failure.message());
    }
    store_.retire(name);
    throw Failure::failed_clean(failure.code(), failure.message());
  }
}

std::shared_ptr<Sandbox> Allocations::existing(std::string_view name,
                                               std::string_view owner_tag) const {
  if (store_.slot(name) == Slot::kTombstone) {
    throw Failure::rejected(Code::kConflict, "the name " + std::string(name) +
                                                 " was fenced or released; it is never used again");
  }
  const auto record = store_.read(name);
  const bool same_owner = record && record->owner_tag == owner_tag;
  if (same_owner && describe(name).state == SandboxState::kReady) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto own = held_.find(name);
    return own == held_.end() ? nullptr : own->second;
  }
  throw Failure::failed_dirty(Code::kConflict,
                              "a sandbox named " + std::string(name) + " exists already and is " +
                                  (same_owner ? "not ready" : "someone else's") +
                                  "; destroy it by its name");
}

std::string Allocations::recorded_name(std::string_view name) const {
  const auto record = store_.read(name);
  if (!record) {
    throw Failure::uncertain(Code::kInternal, "the record of " + std::string(name) + " cannot be read");
  }
  return record->name;
}

std::shared_ptr<Sandbox> Allocations::launch(std::string_view name, const CreateSpec& spec,
                                             Making* making) {
  const std::string problem = making->cgroup.make(
      {making->limits.memory_bytes, making->limits.processes + kOwnProcesses, making->limits.cpu_millis});
  if (!problem.empty()) {
    throw Failure::rejected(Code::kUnavailable,
                            layer_sentence(Layer::kCgroup, problem) + remedy_of(Layer::kCgroup));
  }
  int raw[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0) {
    throw Failure::rejected(Code::kUnavailable, "no descriptor is left: " + error_text(errno));
  }
  Fd ours(raw[0]);
  Fd theirs(raw[1]);
  Create request{};
  request.skipped_layers = making->skipped;
  request.outer_id = making->record.outer_id;
  request.inner_id = kInnerId;
  request.privileged = privileged_ ? 1 : 0;
  request.disk_bytes = making->limits.disk_bytes;
  request.disk_inodes = inodes_for(making->limits.disk_bytes);
  request.lifetime_ns = static_cast<std::uint64_t>(
      (spec.lifetime.count() == 0 ? kDefaultLifetime : spec.lifetime).count());
  std::memcpy(request.host_name, name.data(), std::min(name.size(), kHostNameMaxBytes - 1));

  const std::vector<Fd> procs = making->cgroup.open_procs();
  const Fd unified = making->cgroup.open_unified();
  LaunchParts parts;
  parts.init_socket = theirs.get();
  parts.liveness = making->claim->alive.get();
  parts.pid_file = making->claim->process.get();
  parts.identity = making->identity ? making->identity->lock.get() : -1;
  parts.unified = unified.get();
  for (const Fd& fd : procs) parts.procs.push_back(fd.get());
  Launched launched = launcher_.create(request, parts);
  // From here on the init alone holds its socket and the locks, so their end is its end.
  theirs.reset();
  making->claim.reset();
  making->identity.reset();
  if (launched.failure.error != 0 || !launched.pidfd.valid()) {
    throw Failure::rejected(Code::kUnsupported,
                            layer_sentence(launched.failure.layer, launched.failure.text) +
                                remedy_of(launched.failure.layer));
  }
  await_ready(ours.get(), name);

  SandboxParts made;
  made.name = name;
  made.socket = std::move(ours);
  made.pidfd = std::move(launched.pidfd);
  made.cgroup = making->cgroup;
  made.limits = making->limits;
  made.output_kill_bytes = config_.output_kill_bytes;
  made.created_unix_ms = making->record.created_unix_ms;
  for (const PairView& pair : spec.env) made.environment.emplace_back(pair.key, pair.value);
  auto sandbox = std::make_shared<Sandbox>(std::move(made));
  const std::lock_guard<std::mutex> lock(mutex_);
  held_.emplace(name, sandbox);
  return sandbox;
}

void Allocations::await_ready(int socket, std::string_view name) const {
  pollfd watched{socket, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&watched, 1, static_cast<int>(kReadyPatience.count()));
  } while (ready < 0 && errno == EINTR);
  Received message;
  if (ready != 1 || receive_message(socket, &message, MSG_DONTWAIT) != ReceiveResult::kMessage) {
    throw Failure::uncertain(Code::kUnavailable,
                             "the init of the sandbox " + std::string(name) + " ended or is not ready");
  }
  close_received(&message);
  const Ready* answer = message.as<Ready>(Kind::kReady);
  if (answer == nullptr) throw Failure::uncertain(Code::kInternal, "the init said something else");
  if (answer->failure.error == 0) return;
  const auto layer = static_cast<std::uint32_t>(answer->failure.layer) < kLayerCount
                         ? answer->failure.layer
                         : Layer::kMount;
  const std::string_view text(answer->failure.text, strnlen(answer->failure.text, kTextMaxBytes));
  throw Failure::rejected(Code::kUnsupported, layer_sentence(layer, text) + remedy_of(layer));
}

std::shared_ptr<Sandbox> Allocations::held(std::string_view ref) const {
  const std::string_view name =
      ref.starts_with(kReferencePrefix) ? ref.substr(kReferencePrefix.size()) : std::string_view();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = held_.find(name);
  if (found != held_.end()) return found->second;
  throw Failure::rejected(Code::kNotFound, "there is no sandbox '" + std::string(ref.substr(0, 100)) +
                                               "' in this process; a sandbox ends with the process "
                                               "that made it");
}

Found Allocations::describe(std::string_view name) const {
  Found found;
  found.name = name;
  found.ref = reference_of(name);
  found.scope = scope();
  const auto record = store_.read(name);
  if (record) found.created_unix_ms = record->created_unix_ms;
  switch (store_.liveness(name)) {
    case Liveness::kUnknown:
      found.presence = Presence::kUnknown;
      return found;
    case Liveness::kDead:
      found.presence = Presence::kPresent;
      found.state = record ? SandboxState::kStopped : SandboxState::kBroken;
      return found;
    case Liveness::kAlive: break;
  }
  const bool started = store_.process(name).has_value();
  found.presence = started ? Presence::kPresent : Presence::kInProgress;
  found.state = started ? SandboxState::kReady : SandboxState::kStarting;
  return found;
}

Found Allocations::lookup(std::string_view name) const {
  check_name(name);
  if (store_.slot(name) == Slot::kAllocation) return describe(name);
  Found absent;
  absent.presence = Presence::kAbsentNow;
  absent.name = name;
  return absent;
}

Found Allocations::fence(std::string_view name) {
  check_name(name);
  if (store_.fence(name)) {
    Found fenced;
    fenced.presence = Presence::kAbsentFenced;
    fenced.name = name;
    return fenced;
  }
  Found found = describe(name);
  // A fence knows three answers; one that is being made is there.
  if (found.presence == Presence::kInProgress) found.presence = Presence::kPresent;
  return found;
}

// The base an earlier process made in another place of the hierarchies goes with its last sandbox.
void Allocations::remove_foreign_bases(const std::vector<std::string>& folders) const {
  for (const std::string& folder : folders) {
    const std::string base = folder.substr(0, folder.rfind('/'));
    const bool own = std::any_of(cgroups_.bases().begin(), cgroups_.bases().end(),
                                 [&](const CgroupBase& one) { return one.folder == base; });
    if (!own) rmdir(base.c_str());
  }
}

// Ends what runs, by the kernel's own handle of it, and waits until nothing of it is left.
bool Allocations::end_and_clean(std::string_view name, const Record& record,
                                Clock::time_point until) {
  const bool this_boot = record.boot_id == boot_id_;
  auto pause = std::chrono::microseconds(100);
  while (this_boot && store_.liveness(name) != Liveness::kDead) {
    const auto process = store_.process(name);
    const Fd handle = process ? open_process(*process) : Fd();
    if (handle.valid()) {
      kill_process(handle);
      if (!wait_ended(handle, until)) return false;
    }
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, milliseconds(20));
  }
  std::vector<std::string> folders = record.cgroup_folders;
  for (const std::string& folder : cgroups_.sandbox(name).folders()) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  }
  const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
  if (!remove_cgroups(folders, static_cast<int>(std::max<milliseconds::rep>(left, 100)))) return false;
  remove_foreign_bases(record.cgroup_folders);
  cgroups_.release();
  return true;
}

Destroyed Allocations::destroy(std::string_view name, milliseconds patience) {
  check_name(name);
  const Clock::time_point until = Clock::now() + patience;
  std::shared_ptr<Sandbox> own;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = held_.find(name);
    if (found != held_.end()) own = found->second;
  }
  Destroyed destroyed;
  if (own) {
    own->end();
    if (!own->wait_gone(patience)) {
      throw Failure::failed_dirty(Code::kTimeout, "the sandbox " + std::string(name) +
                                                      " was killed but its processes are still there");
    }
    destroyed.usage = own->usage();
  }
  const Slot slot = store_.slot(name);
  Record record = store_.read(name).value_or(Record{});
  if (record.boot_id.empty()) record.boot_id = boot_id_;
  if (!end_and_clean(name, record, until)) {
    throw Failure::failed_dirty(Code::kTimeout, "something of the sandbox " + std::string(name) +
                                                    " is still there: a process that does not end or "
                                                    "a control group that is not empty");
  }
  if (slot == Slot::kAllocation) store_.retire(name);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = held_.find(name);
  if (found != held_.end()) held_.erase(found);
  return destroyed;
}

// Control groups below the bases whose allocation is not recorded: someone removed the record.
std::vector<Listed> Allocations::orphans() const {
  std::vector<Listed> found;
  for (const CgroupBase& base : cgroups_.bases()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(base.folder, error)) {
      const std::string name = entry.path().filename();
      if (!entry.is_directory(error) || !valid_name(name)) continue;
      if (store_.slot(name) == Slot::kAllocation) continue;
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const Listed& item) { return item.name == name; });
      if (known || found.size() >= kPageItems) continue;
      Listed item;
      item.name = name;
      item.ref = reference_of(name);
      item.state = SandboxState::kBroken;
      item.holder = entry.path();
      found.push_back(item);
    }
  }
  return found;
}

ListPage Allocations::list_owned(std::string_view owner_tag, std::string_view cursor) const {
  ListPage page;
  if (cursor.empty() && owner_tag == owner_tag_) page.items = orphans();
  for (const std::string& name : store_.names()) {
    if (name <= cursor) continue;
    if (page.items.size() >= kPageItems) {
      page.next_cursor = page.items.back().name;
      break;
    }
    const auto record = store_.read(name);
    // A record that cannot be read may be anyone's of this state folder, so it is shown.
    if (record && record->owner_tag != owner_tag) continue;
    const Found found = describe(name);
    Listed item;
    item.name = name;
    item.ref = found.ref;
    item.state = found.state;
    item.created_unix_ms = found.created_unix_ms;
    item.holder = record ? record->holder : "";
    page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace berth::local
