// Simulation: one seeded history of several hosts on one store, with a fault possible at every
// step.
//
// The real with_sandbox, reconcile and retire run over a fake clock, store and provider. A crash
// destroys the host's event loop with every coroutine on it.
#ifndef BERTH_TESTS_SIMULATION_SIMULATION_H_
#define BERTH_TESTS_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle/reconcile.h"
#include "tests/simulation/coverage.h"
#include "tests/simulation/invariants.h"
#include "tests/support/test_host.h"

namespace berth::simulation {

class Simulation {
 public:
  Simulation(std::uint64_t seed, Coverage& coverage);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Plays the history; what was violated, if anything.
  std::optional<std::string> play();

 private:
  struct Delivery;
  // A task beside the calls: true once it is over and its result has been checked.
  struct Watched {
    int host = 0;
    std::string_view what;
    std::function<bool()> is_over;
  };

  // Hosts.
  void start_host(std::size_t slot, bool original_scope);
  void crash(std::size_t slot);
  void forget_host(int id);
  testing::TestHost* any_living_host();
  void install_faults(testing::TestHost& host);
  testing::CommitFault commit_fault(testing::TestHost& host, const std::string& event);
  testing::OpFault op_fault(testing::TestHost& host, testing::Slot slot, const std::string& name);

  // What can happen.
  void act();
  void fire();
  void deliver(bool cancelled_before);
  void cancel_some();
  void reconcile_some();
  void establish_some();
  void retire_some();
  void expire_some();
  void seed_running_intent();

  // Watching.
  void after_step();
  void check_delivery(Delivery& delivery);
  void check_cancelled_before(const Delivery& delivery);
  void check_watched();
  Task<BodyResult> body(Sandbox& sandbox, std::shared_ptr<Delivery> delivery);
  Task<Outcome> operate(Sandbox& sandbox);
  void start_reconcile(testing::TestHost& host, ReconcileOptions options);
  // What an operator who looked closely would say; nothing while it cannot be told.
  std::optional<Established> truth_about(const std::string& name) const;

  void drain();
  void heal();

  bool chance(unsigned percent) { return pick(100) < percent; }
  std::size_t pick(std::size_t count);

  std::uint64_t random_;
  bool faults_ = true;
  unsigned fault_percent_ = 0;
  unsigned crash_permille_ = 0;
  Recovery recovery_ = Recovery::kFence;
  int next_host_id_ = 0;
  std::optional<int> crash_pending_;  // a host that dies when the current step is over

  testing::World world_;
  testing::MemoryRows rows_;
  testing::Cloud cloud_;
  testing::WorldHolders holders_;
  Coverage& coverage_;
  Invariants invariants_;
  Credits credits_;
  std::vector<std::shared_ptr<Delivery>> deliveries_;
  std::vector<Watched> watched_;
  std::map<std::string, int> creates_under_way_;  // asked and without effect yet, by host
  std::vector<std::unique_ptr<testing::TestHost>> hosts_;
};

}  // namespace berth::simulation

#endif  // BERTH_TESTS_SIMULATION_SIMULATION_H_
