// The yardstick for durable executions: how fast this disk takes single SQLite commits.
#ifndef BERTH_TOOLS_BENCH_RAW_COMMITS_H_
#define BERTH_TOOLS_BENCH_RAW_COMMITS_H_

#include <filesystem>

#include "core/base/result.h"
#include "tools/bench/samples.h"

namespace berth::bench {

// One connection, write-ahead log, synchronous=FULL: transactions of one small row each, one after
// the other, for about `budget`, in a new database `file` (its folder exists).
Result<Samples> raw_commits(const std::filesystem::path& file, Duration budget);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_RAW_COMMITS_H_
