// The cases on plain processes: what rides along with a program, without a sandbox around it.
//
// usage: process_cases CASES DOCUMENTS [CASE]
//   DOCUMENTS  a folder that is emptied and filled with result documents
#include <cstdio>

#include "tests/execution/documents.h"
#include "tests/execution/table.h"
#include "tests/unit/execution/process_sandbox.h"

int main(int argc, char** argv) {
  using berth::test::Case;
  if (argc < 3) {
    std::fprintf(stderr, "usage: process_cases CASES DOCUMENTS [CASE]\n");
    return 2;
  }
  berth::test::Documents documents(argv[2]);
  const int failed = berth::test::run_cases(
      argv[1], argc > 3 ? argv[3] : "", false, [&documents](const Case& made) {
        berth::ExecutionResult result;
        const berth::Status valid = berth::validate(made.request);
        if (valid) {
          result = berth::test::run_program(made.request).result;
        } else {
          result.failure = {berth::ExecutionFailure::Kind::kInvalidRequest, valid.error().message()};
        }
        documents.add(made.name, result);
        return result;
      });
  return failed == 0 ? 0 : 1;
}
