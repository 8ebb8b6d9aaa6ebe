// Counts of cases by class, printed as a table.
#ifndef BERTH_TESTS_EXECUTION_TABLE_H_
#define BERTH_TESTS_EXECUTION_TABLE_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/execution/case_file.h"

namespace berth::test {

// Thrown by `run` for a case that a sandbox refuses, and must: it asks for what cannot be had there.
struct RefusedAsItMust {};

// Runs every case that `folder` holds and `only` (empty: all) names, prints what does not hold and a
// table by class, and returns the number of cases that failed. A run in which no case was run fails.
int run_cases(const std::string& folder, const std::string& only, bool isolated,
              const std::function<ExecutionResult(const Case&)>& run);

}  // namespace berth::test

#endif  // BERTH_TESTS_EXECUTION_TABLE_H_
