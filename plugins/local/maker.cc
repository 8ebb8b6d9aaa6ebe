#include "maker.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "helper/channel.h"
#include "identity.h"
#include "process_handle.h"
#include "request.h"

namespace berth::local {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kReadyPatience{30'000};
constexpr milliseconds kUndoPatience{10'000};
// The init and the child that moves a file count as processes too.
constexpr std::uint64_t kOwnProcesses = 2;

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

// What is made so far and given back when the rest fails.
struct Maker::Making {
  Record record;
  SandboxCgroup cgroup;
  std::uint32_t skipped = 0;
  std::optional<Identity> identity;
  std::optional<Claim> claim;
};

std::uint64_t unix_milliseconds() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

std::string one_line(const std::string& path) {
  std::string text = read_small_file(path, 256).value_or("");
  return text.substr(0, text.find('\n'));
}

Maker::Maker(const Config& config, StateStore& store)
    : config_(config),
      store_(store),
      privileged_(geteuid() == 0),
      identity_folder_("/run/berth/identities"),
      boot_id_(one_line("/proc/sys/kernel/random/boot_id")),
      cgroups_(CgroupTree::detect(config_.cgroup_parent, store_.installation_id())) {
  const std::string problem = launcher_.start();
  if (!problem.empty()) throw Failure::rejected(Code::kUnavailable, problem);
  examine_layers();
}

Maker::~Maker() { cgroups_.release(); }

void Maker::examine_layers() {
  const Probed probed = launcher_.probe();
  LayerReport found;
  const auto missing = [&](Layer layer, const std::string& why) {
    found.missing |= bit(layer);
    found.sentences[static_cast<std::uint32_t>(layer)] = why;
  };
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (probed.layers[i].error != 0) missing(layer, error_text(probed.layers[i].error));
  }
  found.landlock_level = probed.layers[static_cast<std::uint32_t>(Layer::kLandlock)].level;
  const std::string cgroup_problem = cgroups_.try_out();
  if (!cgroup_problem.empty()) missing(Layer::kCgroup, cgroup_problem);
  const std::lock_guard<std::mutex> lock(layers_mutex_);
  layers_ = std::move(found);
}

LayerReport Maker::layers() const {
  const std::lock_guard<std::mutex> lock(layers_mutex_);
  return layers_;
}

void Maker::refuse_missing_layers(const Limits& wanted) const {
  const LayerReport here = layers();
  const std::uint32_t refused = here.missing & ~config_.accepted_missing;
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if ((refused & bit(layer)) == 0) continue;
    throw Failure::rejected(Code::kUnsupported,
                            layer_sentence(layer, here.sentences[i]) + remedy_of(layer));
  }
  const bool wants_cgroup = wanted.memory_bytes != 0 || wanted.cpu_millis != 0;
  if (!wants_cgroup || ((here.missing | config_.left_out) & bit(Layer::kCgroup)) == 0) return;
  const std::string& why = here.sentences[static_cast<std::uint32_t>(Layer::kCgroup)];
  throw Failure::rejected(Code::kUnsupported, "limits on memory and CPU cannot be kept: " +
                                                  layer_sentence(Layer::kCgroup, why));
}

CgroupLimits Maker::group_limits(const EffectiveLimits& limits) {
  return {limits.memory_bytes, limits.processes + kOwnProcesses, limits.cpu_millis};
}

std::shared_ptr<Sandbox> Maker::make(const Wish& wish, Template* from) {
  Making making;
  making.skipped = layers().missing | config_.left_out;
  // The sandboxes of a template make mounts of their own, which this layer would not let them.
  if (wish.is_template) making.skipped |= bit(Layer::kLandlock);
  if ((making.skipped & bit(Layer::kCgroup)) == 0) making.cgroup = cgroups_.sandbox(wish.name);
  if (from != nullptr) making.cgroup = making.cgroup.with_controllers();
  if (privileged_) {
    making.identity = take_identity(identity_folder_, config_.identity_base, config_.identity_count);
    if (!making.identity) {
      throw Failure::rejected(Code::kQuota, "no identity is free below " + identity_folder_ +
                                                "; raise identityCount or end sandboxes");
    }
  }
  Record& record = making.record;
  record.name = wish.name;
  record.owner_tag = wish.owner_tag;
  record.holder = one_line("/proc/sys/kernel/hostname") + "/" + std::to_string(getpid());
  record.boot_id = boot_id_;
  record.layers = layer_names(((1u << kLayerCount) - 1) & ~making.skipped);
  record.startup = startup_name(from != nullptr ? Startup::kTemplate : Startup::kCold);
  record.created_unix_ms = unix_milliseconds();
  record.outer_id = making.identity ? making.identity->id : geteuid();
  record.cgroup_folders = making.cgroup.folders();
  making.claim = store_.claim(record);
  if (!making.claim) return nullptr;
  try {
    return launch(wish, from, &making);
  } catch (const Failure& failure) {
    making.claim.reset();
    making.identity.reset();
    if (!end(wish.name, record, Clock::now() + kUndoPatience)) {
      throw Failure::failed_dirty(failure.code(), failure.message());
    }
    store_.retire(wish.name);
    throw Failure::failed_clean(failure.code(), failure.message());
  }
}

std::shared_ptr<Sandbox> Maker::launch(const Wish& wish, Template* from, Making* making) {
  const std::string problem = making->cgroup.make(group_limits(wish.limits));
  if (!problem.empty()) {
    throw Failure::rejected(Code::kUnavailable,
                            layer_sentence(Layer::kCgroup, problem) + remedy_of(Layer::kCgroup));
  }
  if (from != nullptr) {
    try {
      return attempt(wish, from, making);
    } catch (const Failure& failure) {
      // Whatever is wrong with it, nobody has to find out again.
      from->give_up(failure.message());
      making->record.startup = startup_name(Startup::kCold);
      store_.rewrite(wish.name, making->record);
    }
  }
  return attempt(wish, nullptr, making);
}

std::shared_ptr<Sandbox> Maker::attempt(const Wish& wish, Template* from, Making* making) {
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
  request.disk_bytes = wish.limits.disk_bytes;
  request.disk_inodes = inodes_for(wish.limits.disk_bytes);
  request.lifetime_ns = static_cast<std::uint64_t>(
      (wish.lifetime.count() == 0 ? kDefaultLifetime : wish.lifetime).count());
  request.is_template = wish.is_template ? 1 : 0;
  request.made_ahead = wish.made_ahead ? 1 : 0;
  request.identity_base = config_.identity_base;
  request.identity_count = config_.identity_count;
  std::memcpy(request.host_name, wish.name.data(), std::min(wish.name.size(), kHostNameMaxBytes - 1));

  const std::vector<Fd> tasks = making->cgroup.open_tasks();
  const Fd unified = making->cgroup.open_unified();
  LaunchParts parts;
  parts.init_socket = theirs.get();
  parts.liveness = making->claim->alive.get();
  parts.pid_file = making->claim->process.get();
  parts.identity = making->identity ? making->identity->lock.get() : -1;
  parts.unified = unified.get();
  for (const Fd& fd : tasks) parts.tasks.push_back(fd.get());
  if (from != nullptr) {
    parts.control = from->control();
    parts.ancestor = from->ancestor();
  }
  Launched launched = launcher_.create(request, parts);
  theirs.reset();
  if (launched.failure.error != 0 || !launched.pidfd.valid()) {
    throw Failure::rejected(Code::kUnsupported,
                            layer_sentence(launched.failure.layer, launched.failure.text) +
                                remedy_of(launched.failure.layer));
  }
  await_ready(ours.get(), wish.name);
  // From here on the init alone holds its socket and the locks, so their end is its end.
  making->claim.reset();
  making->identity.reset();

  SandboxParts made;
  made.name = wish.name;
  made.socket = std::move(ours);
  made.pidfd = std::move(launched.pidfd);
  made.user_namespace = std::move(launched.user_namespace);
  made.cgroup = making->cgroup;
  made.limits = wish.limits;
  made.output_kill_bytes = config_.output_kill_bytes;
  made.created_unix_ms = making->record.created_unix_ms;
  made.environment = wish.environment;
  made.startup = from != nullptr ? Startup::kTemplate : Startup::kCold;
  if (from != nullptr) made.interpreter = from->interpreter();
  return std::make_shared<Sandbox>(std::move(made));
}

void Maker::await_ready(int socket, std::string_view name) const {
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

// The base an earlier process made in another place of the hierarchies goes with its last sandbox.
void Maker::remove_foreign_bases(const std::vector<std::string>& folders) const {
  for (const std::string& folder : folders) {
    const std::string base = folder.substr(0, folder.rfind('/'));
    const bool own = std::any_of(cgroups_.bases().begin(), cgroups_.bases().end(),
                                 [&](const CgroupBase& one) { return one.folder == base; });
    if (!own) rmdir(base.c_str());
  }
}

bool Maker::end(std::string_view name, const Record& record, Clock::time_point until) {
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

}  // namespace berth::local
