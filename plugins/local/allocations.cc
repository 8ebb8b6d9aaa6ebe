#include "allocations.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "request.h"

namespace berth::local {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kReferencePrefix = "local/";
constexpr std::size_t kPageItems = 256;
constexpr milliseconds kDyingPatience{1000};

void check_name(std::string_view name) {
  if (!valid_name(name)) {
    throw invalid("a sandbox name is 1 to 64 characters of a-z, 0-9 and '-', not '" +
                  std::string(name.substr(0, 100)) + "'");
  }
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

// Of this machine, and no process any more. Its number may be another's by now, which only looks alive.
bool holder_is_gone(const Record& record) {
  const std::string here = one_line("/proc/sys/kernel/hostname") + "/";
  if (!record.holder.starts_with(here)) return false;
  const int pid = std::atoi(record.holder.c_str() + here.size());
  return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

// What will most likely run first. A request that names nothing is one for Python.
Interpreter first_interpreter(const CreateSpec& spec) {
  const bool node = !spec.languages.empty() && spec.languages.front() == language_name(Interpreter::kNode);
  return node ? Interpreter::kNode : Interpreter::kPython;
}

}  // namespace

std::string reference_of(std::string_view name) { return std::string(kReferencePrefix) + std::string(name); }

Allocations::Allocations(Config config, std::string state_dir, std::string owner_tag)
    : config_(std::move(config)),
      owner_tag_(std::move(owner_tag)),
      store_(std::move(state_dir)),
      maker_(config_, store_),
      pool_(config_, store_, maker_, owner_tag_) {
  store_.tidy();
  remove_dead_own();
}

Allocations::~Allocations() {
  bool forks_live_on = false;
  for (const auto& [name, sandbox] : held_) {
    forks_live_on = forks_live_on || sandbox->startup() == Startup::kTemplate;
    sandbox->detach();
  }
  held_.clear();
  pool_.stop(forks_live_on);
}

// Left by a provider that was killed: what it made for itself, which no host knows. It ends with that
// provider, but not in the same moment. A template may outlive one that left in order.
void Allocations::remove_dead_own() {
  const auto until = std::chrono::steady_clock::now() + kDyingPatience;
  for (const std::string& name : store_.names()) {
    if (!name.starts_with(kOwnPrefix)) continue;
    const auto record = store_.read(name);
    while (store_.liveness(name) != Liveness::kDead && record && holder_is_gone(*record) &&
           std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(2));
    }
    if (store_.liveness(name) != Liveness::kDead) continue;
    try {
      destroy(name, std::chrono::seconds(5));
    } catch (const Failure&) {
      // What does not end now is tried again at the next opening; it is in nobody's way.
    }
  }
}

Scope Allocations::scope() const {
  return {{"host", machine_fingerprint()},
          {"user", std::to_string(geteuid())},
          {"state", store_.installation_id()}};
}

std::shared_ptr<Sandbox> Allocations::create(std::string_view name, const CreateSpec& spec) {
  try {
    return make(name, spec);
  } catch (const Failure&) {
    ++failed_creates_;
    throw;
  }
}

std::shared_ptr<Sandbox> Allocations::make(std::string_view name, const CreateSpec& spec) {
  check_name(name);
  Wish wish;
  wish.name = name;
  wish.owner_tag = spec.owner_tag;
  wish.limits = merge(config_.limits, spec.limits);
  wish.limits.disk_bytes = disk_within_memory(wish.limits);
  wish.lifetime = spec.lifetime.count() == 0 ? kDefaultLifetime : spec.lifetime;
  wish.interpreter = first_interpreter(spec);
  for (const PairView& pair : spec.env) wish.environment.emplace_back(pair.key, pair.value);
  check_request(spec, wish.limits);
  maker_.refuse_missing_layers(spec.limits);
  // A trial is about this machine, not about what waits ready.
  std::shared_ptr<Sandbox> made;
  bool taken = false;
  if (name.starts_with(kTrialPrefix)) {
    made = maker_.make(wish, nullptr);
  } else {
    const Pool::Turn turn(pool_, *wish.interpreter);
    made = pool_.claim(wish, &taken);
    if (!made && !taken) made = maker_.make(wish, pool_.usable_template(*wish.interpreter).get());
  }
  if (!made) return existing(name, spec.owner_tag);
  const std::lock_guard<std::mutex> lock(mutex_);
  held_.emplace(name, made);
  return made;
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
  if (record.boot_id.empty()) record.boot_id = maker_.boot_id();
  if (!maker_.end(name, record, until)) {
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
  // A sandbox that was made ahead keeps the groups it was born in.
  std::set<std::string> recorded;
  for (const std::string& name : store_.names()) {
    const auto record = store_.read(name);
    if (record) recorded.insert(record->cgroup_folders.begin(), record->cgroup_folders.end());
  }
  for (const CgroupBase& base : cgroups().bases()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(base.folder, error)) {
      const std::string name = entry.path().filename();
      if (!entry.is_directory(error) || !valid_name(name)) continue;
      if (store_.slot(name) == Slot::kAllocation || recorded.contains(entry.path())) continue;
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
  std::string last;
  for (const std::string& name : store_.names()) {
    if (name <= cursor) continue;
    if (page.items.size() >= kPageItems) {
      page.next_cursor = last;
      break;
    }
    last = name;
    const auto record = store_.read(name);
    const bool own = name.starts_with(kOwnPrefix);
    if (own && !record) continue;  // its provider takes it away this moment
    // A record that cannot be read may be anyone's of this state folder, so it is shown.
    if (record && record->owner_tag != owner_tag) continue;
    const Found found = describe(name);
    Listed item;
    // What is made ahead was never named by a host. Without a holder it is left by a dead one.
    if (!own) item.name = name;
    item.ref = found.ref;
    item.state = found.state;
    item.created_unix_ms = found.created_unix_ms;
    if (record && !(own && holder_is_gone(*record))) item.holder = record->holder;
    page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace berth::local
