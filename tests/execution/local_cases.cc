// The cases in the local sandbox: the whole way of a call, from the request to the receipt.
//
// usage: local_cases CASES PROVIDER WORKER [CASE]
#include <cstdio>
#include <exception>
#include <utility>

#include "tests/execution/provider_host.h"
#include "tests/execution/table.h"
#include "tests/unit/execution/process_sandbox.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: local_cases CASES PROVIDER WORKER [CASE]\n");
    return 2;
  }
  try {
    const berth::test::TemporaryFolder state;
    berth::plugin::LoadRequest request;
    request.id = "local";
    request.file = argv[2];
    request.worker = argv[3];
    berth::test::ProviderHost host(state.path(), std::move(request));
    const int failed =
        berth::test::run_cases(argv[1], argc > 4 ? argv[4] : "", true,
                               [&host](const berth::test::Case& made) { return host.run(made.request); });
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "local_cases: %s\n", thrown.what());
    return 1;
  }
}
