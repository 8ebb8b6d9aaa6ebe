// What processes hold in memory, shared pages divided by who shares them.
#ifndef BERTH_TOOLS_BENCH_SANDBOXES_MEMORY_H_
#define BERTH_TOOLS_BENCH_SANDBOXES_MEMORY_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/result.h"

namespace berth::bench {

// The processes in a control group, itself alone.
Result<std::vector<int>> processes_of(const std::filesystem::path& cgroup);

// Every process below this one, and each one's parent.
std::vector<int> descendants();

// Proportional set size. A process that is gone holds nothing; one that may not be looked at is an error.
Result<std::uint64_t> proportional_bytes(int pid);

// What the whole machine could still give away.
std::uint64_t available_bytes();

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_SANDBOXES_MEMORY_H_
