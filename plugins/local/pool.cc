#include "pool.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/outcome.hpp"
#include "request.h"

namespace berth::local {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kTemplatePrefix = "local-template-";
constexpr std::string_view kReadyPrefix = "local-ready-";
constexpr milliseconds kWarmPatience{120'000};
constexpr milliseconds kWarmLook{50};
constexpr milliseconds kEndPatience{10'000};
// A template without a sandbox ends at once when it is left.
constexpr milliseconds kEmptyPatience{500};
// How long a create may keep the refill waiting.
constexpr milliseconds kYieldMax{50};
// What fails this often is not tried any more by this process.
constexpr int kFailuresMax = 3;
// Where nothing is configured, what a process that makes one sandbox would pay for and never use starts
// with a later one.
constexpr std::uint64_t kCreatesBeforeStart = 3;
// Everything forked from one template shares its address layout.
constexpr std::uint64_t kForksOfATemplate = 2000;
constexpr std::uint64_t kForksOfAGoodTemplate = 20;
// A day past the longest lifetime of a sandbox.
constexpr std::chrono::nanoseconds kTemplateLifetime = std::chrono::hours(48);
constexpr std::chrono::nanoseconds kMemberLifetime = std::chrono::hours(24);

bool alive(const Sandbox& sandbox) {
  pollfd watched{sandbox.pidfd(), POLLIN, 0};
  return poll(&watched, 1, 0) == 0;
}

}  // namespace

Pool::Pool(const Config& config, StateStore& store, Maker& maker, std::string owner_tag)
    : config_(config), store_(store), maker_(maker), owner_tag_(std::move(owner_tag)),
      shape_(config.limits) {
  shape_.disk_bytes = disk_within_memory(shape_);
  if (config_.startup != StartupChoice::kCold) thread_ = std::thread([this] { serve(); });
}

Pool::~Pool() { stop(false); }

void Pool::stop(bool forks_live_on) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  unfit_.insert(unfit_.end(), members_.begin(), members_.end());
  members_.clear();
  for (Mould& mould : moulds_) {
    if (mould.now) retired_.push_back(mould.now->sandbox());
    mould.now.reset();
  }
  for (const auto& sandbox : retired_) {
    // A template's process 1 then lives as long as what was forked from it; its record is taken away by
    // whoever opens this state next.
    if (forks_live_on && !sandbox->wait_gone(kEmptyPatience)) {
      sandbox->detach();
    } else {
      unfit_.push_back(sandbox);
    }
  }
  retired_.clear();
  for (const auto& one : unfit_) discard(one);
  unfit_.clear();
}

Pool::Turn::Turn(Pool& pool, Interpreter interpreter) : pool_(pool) {
  const std::lock_guard<std::mutex> lock(pool_.mutex_);
  ++pool_.busy_;
  ++pool_.creates_;
  ++pool_.moulds_[index_of(interpreter)].creates;
}

Pool::Turn::~Turn() {
  {
    const std::lock_guard<std::mutex> lock(pool_.mutex_);
    --pool_.busy_;
  }
  pool_.changed_.notify_all();
}

bool Pool::asked_for(std::size_t interpreter) const {
  if (!config_.templates[interpreter]) return false;
  switch (config_.startup) {
    case StartupChoice::kCold:
    case StartupChoice::kWarm: return false;
    case StartupChoice::kAutomatic: return moulds_[interpreter].creates >= kCreatesBeforeStart;
    case StartupChoice::kTemplate: return true;
  }
  return false;
}

bool Pool::wants_template(std::size_t interpreter) const {
  const Mould& mould = moulds_[interpreter];
  const bool there = mould.usable() && mould.forks < kForksOfATemplate;
  return asked_for(interpreter) && !there && mould.failures < kFailuresMax;
}

// Those without an interpreter are for whoever has no template.
bool Pool::wants_kind(std::size_t kind) const {
  switch (config_.startup) {
    case StartupChoice::kCold: return false;
    case StartupChoice::kWarm: return kind == kBare;
    case StartupChoice::kAutomatic:
      if (creates_ < kCreatesBeforeStart) return false;
      break;
    case StartupChoice::kTemplate: break;
  }
  if (kind != kBare) return moulds_[kind].usable();
  bool all_served = true;
  for (std::size_t i = 0; i < kInterpreterCount; ++i) {
    const bool needed = config_.startup == StartupChoice::kTemplate ? asked_for(i) : moulds_[i].creates > 0;
    all_served = all_served && (!needed || moulds_[i].usable());
  }
  return !all_served;
}

bool Pool::wants_member(std::size_t kind) const {
  if (member_failures_ >= kFailuresMax || !wants_kind(kind)) return false;
  const auto there = std::count_if(members_.begin(), members_.end(),
                                   [&](const auto& member) { return kind_of(*member) == kind; });
  return static_cast<std::uint32_t>(there) < (refilling_[kind] ? config_.ready_most : config_.ready_least);
}

bool Pool::stopping() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopping_;
}

bool Pool::settled() const {
  for (std::size_t i = 0; i < kInterpreterCount; ++i) {
    if (wants_template(i)) return false;
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (wants_member(kind)) return false;
  }
  return unfit_.empty();
}

void Pool::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || !settled(); });
    changed_.wait_for(lock, kYieldMax, [this] { return stopping_ || busy_ == 0; });
    if (stopping_) return;
    clean(&lock);
    make_next(&lock);
    changed_.notify_all();
  }
}

// Of the kinds that lack members, that with the fewest.
void Pool::make_next(std::unique_lock<std::mutex>* lock) {
  for (std::size_t i = 0; i < kInterpreterCount; ++i) {
    if (wants_template(i)) return make_template(i, lock);
  }
  std::size_t count[kKinds] = {};
  for (const auto& member : members_) ++count[kind_of(*member)];
  std::size_t next = kKinds;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (wants_member(kind) && (next == kKinds || count[kind] < count[next])) next = kind;
  }
  if (next == kKinds) return;
  refilling_[next] = true;
  make_member(next, lock);
  if (!wants_member(next)) refilling_[next] = false;
}

void Pool::clean(std::unique_lock<std::mutex>* lock) {
  std::vector<std::shared_ptr<Sandbox>> dead = std::exchange(unfit_, {});
  const auto gone = std::partition(retired_.begin(), retired_.end(), [](const auto& one) { return alive(*one); });
  dead.insert(dead.end(), gone, retired_.end());
  retired_.erase(gone, retired_.end());
  lock->unlock();
  for (const auto& one : dead) discard(one);
  lock->lock();
}

void Pool::make_template(std::size_t interpreter, std::unique_lock<std::mutex>* lock) {
  Mould& mould = moulds_[interpreter];
  std::shared_ptr<Template> old = std::exchange(mould.now, nullptr);
  if (old) retired_.push_back(old->sandbox());
  if (old && !old->problem().empty()) {
    mould.problem = old->problem();
    // One that was good for long met a change of this machine, and the next one will be made of that.
    if (mould.forks >= kForksOfAGoodTemplate) mould.failures = 0;
    if (++mould.failures >= kFailuresMax) return;
  }
  lock->unlock();
  old.reset();
  Wish wish;
  wish.name = std::string(kTemplatePrefix) + random_hex(8);
  wish.owner_tag = owner_tag_;
  wish.limits = config_.limits;
  wish.limits.memory_bytes = std::max<std::uint64_t>(wish.limits.memory_bytes, std::uint64_t{1} << 30);
  wish.limits.disk_bytes = std::uint64_t{64} << 20;
  wish.limits.cpu_millis = 0;
  wish.limits.processes = 1024;
  wish.lifetime = kTemplateLifetime;
  wish.is_template = true;
  std::shared_ptr<Template> made;
  std::string problem;
  try {
    made = std::make_shared<Template>(maker_.make(wish, nullptr), kInterpreters[interpreter]);
    const Clock::time_point until = Clock::now() + kWarmPatience;
    while (!made->await_warm(kWarmLook, &problem) && !stopping() && Clock::now() < until) {
    }
    if (problem.empty() && !made->usable()) problem = "it is not ready in time";
  } catch (const Failure& failure) {
    problem = failure.message();
  }
  if (!problem.empty() && made) {
    const std::shared_ptr<Sandbox> sandbox = made->sandbox();
    sandbox->end();
    made.reset();
    discard(sandbox);
  }
  lock->lock();
  mould.now = std::move(made);
  if (!problem.empty()) {
    mould.problem = problem;
    ++mould.failures;
    return;
  }
  mould.forks = 0;
  forgo_unwanted();
}

// Those made before there was a template wait without an interpreter.
void Pool::forgo_unwanted() {
  if (wants_kind(kBare)) return;
  const auto first = std::partition(members_.begin(), members_.end(),
                                    [](const auto& member) { return member->interpreter().has_value(); });
  unfit_.insert(unfit_.end(), first, members_.end());
  members_.erase(first, members_.end());
}

void Pool::make_member(std::size_t kind, std::unique_lock<std::mutex>* lock) {
  Wish wish;
  wish.name = std::string(kReadyPrefix) + random_hex(8);
  wish.owner_tag = owner_tag_;
  wish.limits = shape_;
  wish.lifetime = kMemberLifetime;
  wish.made_ahead = true;
  const std::shared_ptr<Template> from = kind == kBare ? nullptr : moulds_[kind].now;
  lock->unlock();
  std::shared_ptr<Sandbox> made;
  try {
    made = maker_.make(wish, from.get());
  } catch (const Failure&) {
    // A create would meet the same and says it to someone who can do something about it.
  }
  lock->lock();
  if (!made) {
    ++member_failures_;
    return;
  }
  member_failures_ = 0;
  if (from) ++moulds_[kind].forks;
  members_.push_back(std::move(made));
}

std::shared_ptr<Template> Pool::usable_template(Interpreter interpreter) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Mould& mould = moulds_[index_of(interpreter)];
  if (!mould.usable()) return nullptr;
  ++mould.forks;
  return mould.now;
}

// The one that waits longest of those that fit, or nothing.
std::shared_ptr<Sandbox> Pool::take_member(Interpreter wanted) {
  const std::size_t kind = moulds_[index_of(wanted)].usable() ? index_of(wanted) : kBare;
  while (true) {
    const auto found = std::find_if(members_.begin(), members_.end(), [&](const auto& member) {
      return kind_of(*member) == kind || kind_of(*member) == index_of(wanted);
    });
    if (found == members_.end()) return nullptr;
    std::shared_ptr<Sandbox> member = std::move(*found);
    members_.erase(found);
    if (alive(*member)) return member;
    unfit_.push_back(std::move(member));
  }
}

std::shared_ptr<Sandbox> Pool::claim(const Wish& wish, bool* taken) {
  *taken = false;
  std::shared_ptr<Sandbox> member;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Everything but the size of the disk can still be set. What is asked for now is what is made next.
    if (shape_.disk_bytes != wish.limits.disk_bytes) {
      shape_.disk_bytes = wish.limits.disk_bytes;
      unfit_.insert(unfit_.end(), members_.begin(), members_.end());
      members_.clear();
    }
    member = take_member(wish.interpreter.value_or(Interpreter::kPython));
  }
  if (!member) return nullptr;
  if (become(member, wish)) return member;
  *taken = true;
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.push_back(std::move(member));
  return nullptr;
}

// False when the name is not free; the member is then what it was.
bool Pool::become(const std::shared_ptr<Sandbox>& member, const Wish& wish) {
  const std::string own = member->name();
  const auto before = store_.read(own);
  if (!before) throw Failure::rejected(Code::kInternal, "the record of a ready sandbox cannot be read");
  Record record = *before;
  record.name = wish.name;
  record.owner_tag = wish.owner_tag;
  record.created_unix_ms = unix_milliseconds();
  record.startup = startup_name(member->startup() == Startup::kTemplate ? Startup::kTemplate : Startup::kWarm);
  if (!store_.rewrite(own, record)) {
    throw Failure::rejected(Code::kUnavailable, "the record of a ready sandbox cannot be written");
  }
  if (!store_.rename(own, wish.name)) {
    store_.rewrite(own, *before);
    return false;
  }
  const bool as_made = member->limits() == wish.limits;
  member->adopt(wish.name, wish.limits, wish.environment, record.created_unix_ms);
  const std::string problem = as_made || member->cgroup().folders().empty()
                                  ? std::string()
                                  : member->cgroup().limit(Maker::group_limits(wish.limits));
  if (problem.empty() && member->set_lifetime(wish.lifetime)) return true;
  member->end();
  if (!maker_.end(wish.name, record, Clock::now() + kEndPatience)) {
    throw Failure::failed_dirty(Code::kUnavailable, "a ready sandbox cannot be used: " + problem);
  }
  store_.retire(wish.name);
  throw Failure::failed_clean(Code::kUnavailable, "a ready sandbox cannot be used: " + problem);
}

void Pool::discard(const std::shared_ptr<Sandbox>& member) {
  member->end();
  try {
    const auto record = store_.read(member->name());
    if (record && maker_.end(member->name(), *record, Clock::now() + kEndPatience)) {
      store_.remove(member->name());
    }
  } catch (const Failure&) {
    // The next provider of this state finds the record and tries again.
  }
}

bool Pool::await_full(milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (config_.startup == StartupChoice::kAutomatic) {
    creates_ = std::max(creates_, kCreatesBeforeStart);
    for (Mould& mould : moulds_) mould.creates = std::max(mould.creates, kCreatesBeforeStart);
  }
  std::fill(std::begin(refilling_), std::end(refilling_), true);
  changed_.notify_all();
  return changed_.wait_for(lock, patience, [this] { return settled(); });
}

std::string Pool::describe() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text = std::to_string(members_.size()) + " ready";
  for (const Interpreter interpreter : kInterpreters) {
    const Mould& mould = moulds_[index_of(interpreter)];
    const std::string name = interpreter_name(interpreter);
    if (mould.usable()) text += ", a template of " + name;
    if (!mould.problem.empty()) text += ", no template of " + name + ": " + mould.problem;
  }
  return text;
}

}  // namespace berth::local
