// One delivery of a call in a history, and what its caller may expect.
#ifndef BERTH_TESTS_SIMULATION_DELIVERY_H_
#define BERTH_TESTS_SIMULATION_DELIVERY_H_

#include <memory>
#include <optional>
#include <string>

#include "tests/simulation/simulation.h"

namespace berth::simulation {

struct Simulation::Delivery {
  CallKey key;
  std::string spec;
  int host = 0;
  bool cancelled_before = false;   // before it was delivered
  bool cancelled_in_time = false;  // before its body started, which must never start then
  bool body_started = false;
  bool body_completed = false;
  bool over = false;
  Cancellation cancellation;
  std::shared_ptr<std::optional<CallEnd>> end;
};

}  // namespace berth::simulation

#endif  // BERTH_TESTS_SIMULATION_DELIVERY_H_
