// The cases at the stand-in of a remote service: the same programs, the same way, another provider.
//
// usage: remote_cases CASES SERVICE PROVIDER WORKER [CASE]
//
// A case that limits memory or disk must be refused: neither service can limit them in a sandbox that is
// not made from an image of its own.
#include <stdlib.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/execution/provider_host.h"
#include "tests/execution/table.h"
#include "tests/standins/support/stand_in.h"
#include "tests/unit/execution/process_sandbox.h"

namespace {

using berth::ExecutionFailure;
using berth::ExecutionResult;
using berth::standins::StandIn;
using berth::test::Case;

void give_credentials() {
  for (const auto& [name, value] : {std::pair{"DAYTONA_API_KEY", "dtn_key"},
                                    std::pair{"DAYTONA_ORGANIZATION_ID", "org-1"},
                                    std::pair{"VERCEL_TOKEN", "vcp_token"},
                                    std::pair{"VERCEL_TEAM_ID", "team_a"},
                                    std::pair{"VERCEL_PROJECT_ID", "prj_a"}})
    ::setenv(name, value, 1);
}

ExecutionResult run(berth::test::ProviderHost& host, StandIn& service, const Case& made) {
  const auto& limits = made.request.limits;
  const bool limited = limits.memory_bytes != 0 || limits.disk_bytes != 0;
  ExecutionResult result = host.run(made.request);
  if (service.machines() != 0) throw std::runtime_error("a sandbox is left at the service");
  if (!limited) return result;
  if (!result.failure || result.failure->kind != ExecutionFailure::Kind::kRefused)
    throw std::runtime_error("a limit that cannot be set was not refused");
  throw berth::test::RefusedAsItMust();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: remote_cases CASES SERVICE PROVIDER WORKER [CASE]\n");
    return 2;
  }
  try {
    give_credentials();
    const berth::test::TemporaryFolder folder;
    const std::string id = argv[2];
    const auto service = StandIn::start(BERTH_STANDIN, id, folder.path() / "service");
    std::filesystem::create_directories(folder.path() / "state");
    berth::plugin::LoadRequest request;
    request.id = id;
    request.file = argv[3];
    request.worker = argv[4];
    auto& config = request.configuration.providers[id].config;
    config["apiUrl"] = service->url() + "/api";
    config["caFile"] = service->authority();
    config["pollFirstMs"] = 10;
    config["pollMostMs"] = 100;
    berth::test::ProviderHost host(folder.path() / "state", std::move(request));
    const int failed =
        berth::test::run_cases(argv[1], argc > 5 ? argv[5] : "", true,
                               [&](const Case& made) { return run(host, *service, made); });
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "remote_cases: %s\n", thrown.what());
    return 1;
  }
}
