#include "tests/execution/table.h"

#include <cstdio>
#include <exception>
#include <map>
#include <optional>

namespace berth::test {
namespace {

struct Row {
  int passed = 0;
  int failed = 0;
  int left_out = 0;  // needs a real sandbox, or another than this one
};

// Nothing for a case that was refused as it must be.
std::optional<std::vector<std::string>> faults_of(
    const Case& made, const std::function<ExecutionResult(const Case&)>& run) {
  try {
    return check(made, run(made));
  } catch (const RefusedAsItMust&) {
    return std::nullopt;
  } catch (const std::exception& thrown) {
    return std::vector{std::string("threw: ") + thrown.what()};
  }
}

}  // namespace

int run_cases(const std::string& folder, const std::string& only, bool isolated,
              const std::function<ExecutionResult(const Case&)>& run) {
  std::map<std::string, Row> rows;
  Row all;
  for (const Case& made : read_cases(folder)) {
    if (!only.empty() && made.name != only) continue;
    Row& row = rows[made.group];
    const bool left_out = made.needs_isolation && !isolated;
    const auto faults = left_out ? std::nullopt : faults_of(made, run);
    if (!faults) {
      ++row.left_out;
      ++all.left_out;
      continue;
    }
    ++(faults->empty() ? row.passed : row.failed);
    ++(faults->empty() ? all.passed : all.failed);
    if (faults->empty()) continue;
    std::printf("FAILED %s (%s:%zu)\n", made.name.c_str(), made.file.filename().c_str(), made.line);
    for (const std::string& fault : *faults) std::printf("    %s\n", fault.c_str());
  }
  std::printf("%-16s %7s %7s %7s\n", "class", "passed", "failed", "other");
  for (const auto& [group, row] : rows) {
    std::printf("%-16s %7d %7d %7d\n", group.c_str(), row.passed, row.failed, row.left_out);
  }
  std::printf("%-16s %7d %7d %7d\n", "all", all.passed, all.failed, all.left_out);
  return all.passed + all.failed == 0 ? 1 : all.failed;
}

}  // namespace berth::test
