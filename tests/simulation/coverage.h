// Coverage: which cells of the state table and which faults at which steps the histories have hit.
#ifndef BERTH_TESTS_SIMULATION_COVERAGE_H_
#define BERTH_TESTS_SIMULATION_COVERAGE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/machine.h"

namespace berth::simulation {

class Coverage {
 public:
  void hit(IntentState state, EventKind event);
  // A step is a commit by its event or an operation by its slot.
  void hit_fault(const std::string& step, const std::string& fault);
  void add(const Coverage& other);

  // Cells of the table that no history has reached, and faults that no step of theirs has met.
  std::vector<std::string> missing() const;
  void print() const;

 private:
  std::array<std::array<std::uint64_t, kEventKindCount>, kIntentStateCount> cells_{};
  std::map<std::pair<std::string, std::string>, std::uint64_t> faults_;
};

}  // namespace berth::simulation

#endif  // BERTH_TESTS_SIMULATION_COVERAGE_H_
