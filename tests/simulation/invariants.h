// Invariants: what must hold after every step of every history, checked against what is stored and
// what truly exists, without asking the code under test.
#ifndef BERTH_TESTS_SIMULATION_INVARIANTS_H_
#define BERTH_TESTS_SIMULATION_INVARIANTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/simulation/coverage.h"
#include "tests/support/test_host.h"

namespace berth::simulation {

class Invariants {
 public:
  Invariants(const testing::MemoryRows& rows, const testing::Cloud& cloud,
             const testing::WorldHolders& holders, Coverage& coverage)
      : rows_(rows), cloud_(cloud), holders_(holders), coverage_(coverage) {}

  // After every step.
  void check();
  // After a commit by this host, before anything else happens.
  void check_commit(const std::string& host_lock);
  // When an operation is asked for by a host that works in this scope.
  void check_ask(testing::Slot slot, const std::string& name, const std::string& host_lock,
                 const Scope& scope);
  // When everything has been healed: nothing is open, nothing is left.
  void check_end();

  void violate(std::string what) {
    if (!violation_) violation_ = std::move(what);
  }
  const std::optional<std::string>& violation() const { return violation_; }

  std::set<std::string> completed;  // names whose body returned a valid output
  std::set<std::string> tainted;    // names with a lost operation

 private:
  struct Seen {
    std::string holder_lock;
    std::uint64_t revision = 0;
  };

  void check_journal();
  void check_intent(const Intent& intent);
  void check_receipt(const Receipt& receipt);
  void check_new_intent(const Intent& intent);
  void check_ledger();

  const testing::MemoryRows& rows_;
  const testing::Cloud& cloud_;
  const testing::WorldHolders& holders_;
  Coverage& coverage_;
  std::optional<std::string> violation_;
  std::size_t journal_checked_ = 0;
  std::map<std::string, IntentState> states_;  // by the journal
  std::map<std::string, Seen> seen_;
};

}  // namespace berth::simulation

#endif  // BERTH_TESTS_SIMULATION_INVARIANTS_H_
