// Takes every guard of the lifecycle away, one at a time: the simulator must notice.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/lifecycle/guards.h"
#include "tests/simulation/simulation.h"

namespace berth::simulation {
namespace {

constexpr std::uint64_t kHistoriesMax = 20'000;

class WithoutGuard {
 public:
  explicit WithoutGuard(Guard which) : which_(which) { set_guard(which_, false); }
  ~WithoutGuard() { set_guard(which_, true); }
  WithoutGuard(const WithoutGuard&) = delete;
  WithoutGuard& operator=(const WithoutGuard&) = delete;

 private:
  Guard which_;
};

class GuardRemoval : public ::testing::TestWithParam<std::size_t> {};

TEST_P(GuardRemoval, IsNoticed) {
  const auto which = static_cast<Guard>(GetParam());
  const WithoutGuard without(which);
  Coverage coverage;
  std::optional<std::string> violation;
  std::uint64_t histories = 0;
  while (!violation && histories < kHistoriesMax) {
    Simulation simulation(1 + histories++, coverage);
    violation = simulation.play();
  }
  ASSERT_TRUE(violation) << "no history of " << histories << " needs guard " << to_string(which);
  RecordProperty("histories", std::to_string(histories));
  RecordProperty("violation", *violation);
}

INSTANTIATE_TEST_SUITE_P(EveryGuard, GuardRemoval, ::testing::Range(std::size_t{0}, kGuardCount),
                         [](const ::testing::TestParamInfo<std::size_t>& which) {
                           return std::string(to_string(static_cast<Guard>(which.param)));
                         });

TEST(GuardEnum, EveryGuardHasANameAndTheCountIsRight) {
  for (std::size_t i = 0; i < kGuardCount; ++i)
    EXPECT_FALSE(to_string(static_cast<Guard>(i)).empty());
  EXPECT_TRUE(to_string(static_cast<Guard>(kGuardCount)).empty());
}

}  // namespace
}  // namespace berth::simulation
