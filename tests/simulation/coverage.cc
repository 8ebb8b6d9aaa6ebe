#include "tests/simulation/coverage.h"

#include <fmt/core.h>

#include <set>

#include "tests/support/model_provider.h"

namespace berth::simulation {
namespace {

using testing::OpFault;
using testing::Slot;

constexpr std::array kCommitFaults = {"none",         "failed",       "unknown_lost",
                                      "unknown_kept", "crash_before", "crash_after"};

// Every commit that the library makes, by its last journal line; "session" writes none.
constexpr std::array kCommitSteps = {
    "reserve",
    "dispatch",
    "refuse",
    "cancel",
    "create_done",
    "create_rejected",
    "create_failed_clean",
    "create_failed_dirty",
    "create_uncertain",
    "delete_confirmed",
    "delete_failed",
    "recover",
    "found",
    "inconclusive",
    "fenced",
    "established_absent",
    "established_present",
    "expire",
    "late_answer",
    "session",
};

std::vector<std::pair<std::string, std::string>> wanted_faults() {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const char* const step : kCommitSteps) {
    for (const char* const fault : kCommitFaults) wanted.emplace_back(step, fault);
  }
  for (std::size_t slot = 0; slot < testing::kSlotCount; ++slot) {
    const std::string step(to_string(static_cast<Slot>(slot)));
    for (std::size_t fault = 0; fault < testing::kOpFaultCount; ++fault)
      wanted.emplace_back(step, to_string(static_cast<OpFault>(fault)));
    wanted.emplace_back(step, "crash_before");
    wanted.emplace_back(step, "crash_after");
  }
  return wanted;
}

}  // namespace

void Coverage::hit(IntentState state, EventKind event) {
  cells_[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)] += 1;
}

void Coverage::hit_fault(const std::string& step, const std::string& fault) {
  faults_[{step, fault}] += 1;
}

void Coverage::add(const Coverage& other) {
  for (std::size_t state = 0; state < kIntentStateCount; ++state) {
    for (std::size_t event = 0; event < kEventKindCount; ++event)
      cells_[state][event] += other.cells_[state][event];
  }
  for (const auto& [cell, count] : other.faults_) faults_[cell] += count;
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> missing;
  for (std::size_t state = 0; state < kIntentStateCount; ++state) {
    for (std::size_t event = 0; event < kEventKindCount; ++event) {
      const auto from = static_cast<IntentState>(state);
      const auto kind = static_cast<EventKind>(event);
      if (is_defined(from, kind) && cells_[state][event] == 0)
        missing.push_back(fmt::format("{} x {}", to_string(from), to_string(kind)));
    }
  }
  for (const auto& cell : wanted_faults()) {
    if (!faults_.contains(cell)) missing.push_back(fmt::format("{} x {}", cell.first, cell.second));
  }
  return missing;
}

void Coverage::print() const {
  fmt::print("state x event\n");
  for (std::size_t state = 0; state < kIntentStateCount; ++state) {
    for (std::size_t event = 0; event < kEventKindCount; ++event) {
      if (cells_[state][event] > 0)
        fmt::print("  {:<11} {:<20} {:>10}\n", to_string(static_cast<IntentState>(state)),
                   to_string(static_cast<EventKind>(event)), cells_[state][event]);
    }
  }
  fmt::print("step x fault\n");
  for (const auto& [cell, count] : faults_)
    fmt::print("  {:<20} {:<14} {:>10}\n", cell.first, cell.second, count);
}

}  // namespace berth::simulation
