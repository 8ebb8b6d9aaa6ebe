// The cases on plain processes: what rides along with a program, without a sandbox around it.
#include <cstdio>
#include <cstring>

#include "tests/execution/table.h"
#include "tests/unit/execution/process_sandbox.h"

int main(int argc, char** argv) {
  using berth::test::Case;
  if (argc < 2) {
    std::fprintf(stderr, "usage: process_cases FOLDER [CASE]\n");
    return 2;
  }
  const int failed = berth::test::run_cases(
      argv[1], argc > 2 ? argv[2] : "", false, [](const Case& made) {
        const berth::Status valid = berth::validate(made.request);
        if (valid) return berth::test::run_program(made.request).result;
        berth::ExecutionResult refused;
        refused.failure = {berth::ExecutionFailure::Kind::kInvalidRequest, valid.error().message()};
        return refused;
      });
  return failed == 0 ? 0 : 1;
}
