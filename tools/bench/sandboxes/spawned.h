// Processes started by posix_spawn: what sandboxes are compared with.
#ifndef BERTH_TOOLS_BENCH_SANDBOXES_SPAWNED_H_
#define BERTH_TOOLS_BENCH_SANDBOXES_SPAWNED_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"

namespace berth::bench {

struct Spawned {
  std::vector<std::string> argv;  // argv[0] is sought in PATH
  Instant begun;
  Instant first_output;           // `ended` when it wrote nothing
  Instant ended;                  // waited for
  std::string output;
};

// Runs them all with standard input at its end, at most `in_flight` at once, and waits for every
// one. Blocks meanwhile. One that does not end with 0 is an error, once all have ended.
Result<std::vector<Spawned>> run_spawned(std::vector<std::vector<std::string>> commands,
                                         std::size_t in_flight, const std::filesystem::path& folder);

// One command, once.
Result<Spawned> run_spawned(const std::vector<std::string>& argv,
                            const std::filesystem::path& folder);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_SANDBOXES_SPAWNED_H_
