// The simulator: plays seeded histories until one violates an invariant.
//
//   simulator [--histories N] [--seed S] [--threads T]
//
// Prints what was hit, and the seed of a failure; `--seed S --histories 1` plays it again. Ends 0
// when every history held and every reachable cell was hit, 1 when not, 2 for a wrong argument.
#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/simulation/simulation.h"

namespace berth::simulation {
namespace {

struct Arguments {
  std::uint64_t histories = 100'000;
  std::uint64_t seed = 1;
  unsigned threads = 2;
};

std::optional<Arguments> parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = values[i];
    if (i + 1 >= count) return std::nullopt;
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(values[i + 1], &end, 10);
    if (*values[i + 1] == '\0' || *end != '\0') return std::nullopt;
    if (name == "--histories") {
      arguments.histories = value;
    } else if (name == "--seed") {
      arguments.seed = value;
    } else if (name == "--threads" && value > 0 && value <= 256) {
      arguments.threads = static_cast<unsigned>(value);
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

// Histories below this many cannot be expected to reach every cell.
constexpr std::uint64_t kCoverageNeedsHistories = 50'000;

int play(const Arguments& arguments) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Coverage coverage;
  const auto work = [&] {
    Coverage own;
    while (!failed.load()) {
      const std::uint64_t index = next.fetch_add(1);
      if (index >= arguments.histories) break;
      const std::uint64_t seed = arguments.seed + index;
      Simulation simulation(seed, own);
      const std::optional<std::string> violation = simulation.play();
      if (!violation) continue;
      failed.store(true);
      const std::lock_guard lock(mutex);
      fmt::print("seed {}: {}\nplay it again with --seed {} --histories 1\n", seed, *violation,
                 seed);
    }
    const std::lock_guard lock(mutex);
    coverage.add(own);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < arguments.threads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  coverage.print();
  if (failed.load()) return 1;
  fmt::print("{} histories from seed {}: every invariant held\n", arguments.histories,
             arguments.seed);
  if (arguments.histories < kCoverageNeedsHistories) return 0;
  const std::vector<std::string> missing = coverage.missing();
  for (const std::string& cell : missing) fmt::print("never hit: {}\n", cell);
  return missing.empty() ? 0 : 1;
}

}  // namespace
}  // namespace berth::simulation

int main(int count, char** values) {
  const auto arguments = berth::simulation::parse(count, values);
  if (!arguments) {
    fmt::print(stderr, "usage: simulator [--histories N] [--seed S] [--threads 1..256]\n");
    return 2;
  }
  return berth::simulation::play(*arguments);
}
