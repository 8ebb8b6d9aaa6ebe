// From nothing to /bin/true done, in turns with a neighbour that does it as one command.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "tools/bench/sandboxes/family.h"
#include "tools/bench/sandboxes/held.h"
#include "tools/bench/sandboxes/local_host.h"
#include "tools/bench/sandboxes/program_options.h"
#include "tools/bench/sandboxes/spawned.h"

namespace berth::bench {
namespace {

constexpr int kColdUnmeasured = 2;

struct ColdTrue {
  ProviderOptions provider;
  int samples = 100;
  std::vector<std::string> beside;
};

struct Times {
  Instant begun;
  Instant done;
  Instant receipt;
};

Task<Result<Times>> run_cold(LocalHost& host, const Setting& setting) {
  Times times;
  times.begun = now();
  Body body = [&times](Sandbox& sandbox) -> Task<BodyResult> {
    BodyResult result = co_await run_true(sandbox);
    times.done = now();
    co_return result;
  };
  SandboxRequest request = sandbox_request(host, setting);
  const CallEnd end = co_await with_sandbox(host.services(), std::move(request), std::move(body));
  times.receipt = now();
  if (end.status == CallEnd::Status::kCompleted) co_return times;
  co_return fail(ErrorKind::kInternal, "/bin/true did not end well: " + end.message);
}

Task<Result<boost::json::object>> take_cold_turns(Setting& setting, LocalHost& host,
                                             const ColdTrue& plan) {
  BERTH_CO_TRY(const ExecutionRequest sample, ProgramOptions().request());
  BERTH_CO_CHECK_OK(co_await host.settle(sample));
  std::vector<Duration> done;
  std::vector<Duration> receipt;
  std::vector<Duration> beside;
  for (int turn = -kColdUnmeasured; turn < plan.samples; ++turn) {
    BERTH_CO_CHECK_OK(unless_stopped(setting));
    BERTH_CO_TRY(const Spawned spawned, run_spawned(plan.beside, setting.folder));
    BERTH_CO_TRY(const Times times, co_await run_cold(host, setting));
    if (turn < 0) continue;
    beside.push_back(spawned.ended - spawned.begun);
    done.push_back(times.done - times.begun);
    receipt.push_back(times.receipt - times.begun);
  }
  boost::json::object report;
  report["done"] = to_json(done);
  report["receipt"] = to_json(receipt);
  report["beside"] = to_json(beside);
  co_return report;
}

Task<Result<boost::json::object>> measure_cold(Setting& setting, std::shared_ptr<ColdTrue> plan) {
  BERTH_CO_TRY(const auto host, co_await LocalHost::open(setting, plan->provider));
  auto report = co_await take_cold_turns(setting, *host, *plan);
  const Status closed = co_await host->close();
  if (report && !closed) co_return fail(closed.error());
  co_return report;
}

}  // namespace

void add_cold_true(CLI::App& app, Family& chosen) {
  auto plan = std::make_shared<ColdTrue>();
  CLI::App* command = app.add_subcommand("cold-true", "a sandbox for /bin/true, and a neighbour's");
  plan->provider.add_to(*command);
  command->add_option("--samples", plan->samples, "turns that count")->check(CLI::Range(1, 100'000));
  command->add_option("beside", plan->beside, "the neighbour's command")->required();
  command->callback([plan, &chosen] {
    chosen = [plan](Setting& setting) { return measure_cold(setting, plan); };
  });
}

}  // namespace berth::bench
