// Fuzzing: sequences of operations drawn at random, against a model of what must be true after each.
#ifndef BERTH_CORE_CONFORMANCE_FUZZ_H_
#define BERTH_CORE_CONFORMANCE_FUZZ_H_

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/task.h"
#include "core/conformance/lab.h"
#include "core/conformance/runner.h"

namespace berth::conformance {

inline constexpr std::string_view kFuzzTask = "fuzz";
inline constexpr int kFuzzOperations = 40;  // of one sequence

// One sequence, drawn from the lab's random numbers: in a child. What was done is noted.
Status fuzz_sequence(Lab& lab);

struct FuzzReport {
  std::uint64_t sequences = 0;
  // The first one that contradicted the model, or did not come to its end.
  std::optional<std::uint64_t> seed;
  std::string text;
  std::vector<std::string> operations;  // of that sequence, as far as it came
  std::string refusal;  // the loader's, a sentence a line; empty: it loads, and sequences were run
  bool interrupted = false;
};

struct FuzzRequest {
  RunRequest run;              // file, configuration, programs, jobs, scale
  Duration time = std::chrono::seconds(10);
  std::optional<std::uint64_t> reproduce;  // this sequence only
  std::function<void(std::uint64_t sequences)> on_progress = {};
};

// Sequences until the time is over or one is bad; none where the loader refuses the file. An error when the kit
// itself fails.
Task<Result<FuzzReport>> fuzz_provider(boost::asio::any_io_executor executor, FuzzRequest request,
                                       Cancellation& cancellation);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_FUZZ_H_
