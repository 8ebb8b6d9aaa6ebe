#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/simulation/delivery.h"

namespace berth::simulation {
namespace {

using testing::CommitFault;
using testing::OpFault;
using testing::Slot;
using testing::TestHost;

constexpr std::size_t kHostSlots = 2;
constexpr std::size_t kActionsMax = 120;
constexpr std::size_t kDrainMax = 4000;
constexpr int kHealRounds = 12;

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::string_view to_string(CommitFault fault) {
  switch (fault) {
    case CommitFault::kNone:
      return "none";
    case CommitFault::kFailed:
      return "failed";
    case CommitFault::kUnknownLost:
      return "unknown_lost";
    case CommitFault::kUnknownKept:
      return "unknown_kept";
  }
  return "";
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, Coverage& coverage)
    : random_(mix(seed)),
      coverage_(coverage),
      invariants_(rows_, cloud_, holders_, coverage),
      credits_(CreditsConfig{Money::cents(static_cast<std::int64_t>(5 * (1 + mix(seed) % 8)))}) {
  constexpr std::array<unsigned, 4> kFaultPercents = {0, 3, 10, 30};
  constexpr std::array<unsigned, 4> kCrashPermilles = {0, 5, 20, 60};
  fault_percent_ = kFaultPercents[pick(kFaultPercents.size())];
  crash_permille_ = kCrashPermilles[pick(kCrashPermilles.size())];
  recovery_ = chance(75) ? Recovery::kFence : Recovery::kManual;
  hosts_.resize(kHostSlots);
}

Simulation::~Simulation() {
  hosts_.clear();  // before the deliveries that their coroutines use
}

std::size_t Simulation::pick(std::size_t count) {
  random_ = mix(random_);
  return static_cast<std::size_t>(random_ % count);
}

std::optional<std::string> Simulation::play() {
  if (chance(3)) seed_running_intent();
  for (std::size_t slot = 0; slot < kHostSlots; ++slot) start_host(slot, true);
  for (std::size_t i = 0; i < kActionsMax && !invariants_.violation(); ++i) act();
  if (!invariants_.violation()) heal();
  return invariants_.violation();
}

void Simulation::start_host(std::size_t slot, bool original_scope) {
  hosts_[slot] =
      std::make_unique<TestHost>(world_, rows_, cloud_, holders_, next_host_id_++,
                                 testing::model_scope(original_scope ? "account-a" : "account-b"));
  TestHost& host = *hosts_[slot];
  host.services.billing = &credits_;
  host.provider.mutable_identity().recovery = recovery_;
  install_faults(host);
}

void Simulation::crash(std::size_t slot) {
  const int id = hosts_[slot]->id();
  hosts_[slot].reset();
  forget_host(id);
}

TestHost* Simulation::any_living_host() {
  const std::size_t first = pick(kHostSlots);
  for (std::size_t i = 0; i < kHostSlots; ++i) {
    TestHost* const host = hosts_[(first + i) % kHostSlots].get();
    if (host != nullptr) return host;
  }
  return nullptr;
}

void Simulation::install_faults(TestHost& host) {
  const std::string lock = host.services.self.lock_path;
  const int id = host.id();
  const Scope scope = testing::model_scope(host.provider.scope_value().front().second);
  host.memory_store.commit_fault = [this, &host](const std::string& event) {
    return commit_fault(host, event);
  };
  host.memory_store.read_fails = [this] { return faults_ && chance(fault_percent_ / 2); };
  host.memory_store.on_committed = [this, lock](const std::string&) {
    invariants_.check_commit(lock);
  };
  host.provider.fault = [this, &host](Slot slot, const std::string& name) {
    return op_fault(host, slot, name);
  };
  host.provider.on_ask = [this, lock, scope, id](Slot slot, const std::string& name) {
    invariants_.check_ask(slot, name, lock, scope);
    if (slot == Slot::kCreate) creates_under_way_[name] = id;
  };
}

CommitFault Simulation::commit_fault(TestHost& host, const std::string& event) {
  if (!faults_) return CommitFault::kNone;
  const std::string step = event.empty() ? "session" : event;
  if (pick(1000) < crash_permille_) {
    crash_pending_ = host.id();
    const bool before = chance(50);
    coverage_.hit_fault(step, before ? "crash_before" : "crash_after");
    return before ? CommitFault::kUnknownLost : CommitFault::kUnknownKept;
  }
  CommitFault fault = CommitFault::kNone;
  if (chance(fault_percent_)) fault = static_cast<CommitFault>(1 + pick(3));
  coverage_.hit_fault(step, std::string(to_string(fault)));
  return fault;
}

OpFault Simulation::op_fault(TestHost& host, Slot slot, const std::string& name) {
  if (slot == Slot::kCreate) creates_under_way_.erase(name);
  if (!faults_) return OpFault::kNone;
  const std::string step(testing::to_string(slot));
  if (pick(1000) < crash_permille_) {
    crash_pending_ = host.id();
    const bool before = chance(50);
    coverage_.hit_fault(step, before ? "crash_before" : "crash_after");
    if (!before) return OpFault::kNone;
    // The request was on its way when the host died: it may still arrive.
    if (slot != Slot::kCreate || chance(50)) return OpFault::kLostNotDone;
    world_.post(testing::kNobody, [this, name] { cloud_.finish_late(name); });
    return OpFault::kLate;
  }
  OpFault fault = OpFault::kNone;
  if (chance(fault_percent_)) fault = static_cast<OpFault>(1 + pick(testing::kOpFaultCount - 1));
  if (slot == Slot::kCreate && fault == OpFault::kLate)
    world_.post(testing::kNobody, [this, name] { cloud_.finish_late(name); });
  coverage_.hit_fault(step, std::string(testing::to_string(fault)));
  return fault;
}

void Simulation::act() {
  const std::size_t choice = pick(100);
  if (choice < 74) {
    fire();
  } else if (choice < 83) {
    deliver(chance(4));
  } else if (choice < 86) {
    cancel_some();
  } else if (choice < 91) {
    reconcile_some();
  } else if (choice < 93) {
    establish_some();
  } else if (choice < 94) {
    retire_some();
  } else if (choice < 95) {
    expire_some();
  } else if (choice < 96) {
    world_.wall += std::chrono::milliseconds(static_cast<std::int64_t>(pick(7'200'000))) -
                   std::chrono::hours(1);
  } else {
    const std::size_t slot = pick(kHostSlots);
    if (hosts_[slot] == nullptr) {
      start_host(slot, !faults_ || chance(80));
    } else if (pick(1000) < 5 * crash_permille_) {
      crash(slot);
    }
  }
  after_step();
}

void Simulation::fire() {
  // Time may pass though something else could have happened first.
  const bool waits = world_.ready_count() > 0 && !chance(4);
  if (waits) {
    world_.fire_ready(pick(world_.ready_count()));
  } else {
    world_.fire_timer();
  }
}

void Simulation::after_step() {
  if (crash_pending_) {
    for (std::size_t slot = 0; slot < kHostSlots; ++slot) {
      if (hosts_[slot] != nullptr && hosts_[slot]->id() == *crash_pending_) crash(slot);
    }
    crash_pending_.reset();
  }
  for (const auto& host : hosts_) {
    if (host != nullptr) host->poll();
  }
  check_watched();
  invariants_.check();
}

void Simulation::drain() {
  after_step();  // what was started has yet to ask for something
  for (std::size_t i = 0; i < kDrainMax && !invariants_.violation(); ++i) {
    if (world_.ready_count() > 0) {
      world_.fire_ready(pick(world_.ready_count()));
    } else if (!world_.fire_timer()) {
      break;
    }
    after_step();
  }
  after_step();
  for (const auto& delivery : deliveries_) {
    if (!delivery->over) invariants_.violate("a call never ends");
  }
  for (const Watched& watched : watched_)
    invariants_.violate(fmt::format("{} never ends", watched.what));
}

// Faults are over: whatever the history left behind must be settled by what operators have.
void Simulation::heal() {
  faults_ = false;
  drain();
  for (std::size_t slot = 0; slot < kHostSlots; ++slot) {
    if (hosts_[slot] != nullptr) crash(slot);
    start_host(slot, slot == 0);
  }
  const auto open = [this] {
    return std::any_of(rows_.intents.begin(), rows_.intents.end(),
                       [](const auto& row) { return row.second.state != IntentState::kReleased; });
  };
  for (int round = 0; round < kHealRounds && open() && !invariants_.violation(); ++round) {
    for (const auto& host : hosts_) {
      start_reconcile(*host, {});
      drain();
      for (const std::string& name : rows_.order) {
        if (rows_.intents.find(name)->second.state != IntentState::kUncertain) continue;
        ReconcileOptions options;
        options.name = name;
        options.established = truth_about(name);
        options.evidence = "the operator looked";
        if (options.established) start_reconcile(*host, std::move(options));
        drain();
      }
    }
  }
  invariants_.check_end();
}

}  // namespace berth::simulation
