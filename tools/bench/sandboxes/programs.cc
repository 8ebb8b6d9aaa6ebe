// One program after the other, whole: bare, then through the library in a sandbox of its own, in turns.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/os/fd.h"
#include "tools/bench/sandboxes/family.h"
#include "tools/bench/sandboxes/local_host.h"
#include "tools/bench/sandboxes/program_options.h"
#include "tools/bench/sandboxes/spawned.h"

namespace berth::bench {
namespace {

constexpr int kUnmeasured = 2;  // turns before the first one that counts

struct Programs {
  ProviderOptions provider;
  ProgramOptions program;
  int samples = 50;
  bool chart = false;
  std::vector<std::string> beside;
};

// What each phase of the receipts took.
using Phases = std::map<std::string, std::vector<Duration>>;

Task<Result<Duration>> run_program(LocalHost& host, const Programs& plan, const ExecutionRequest& request,
                           const std::string& expected, Phases& phases) {
  const Instant begun = now();
  BERTH_CO_TRY(const ExecutionResult result, co_await host.execute(request));
  const Duration took = now() - begun;
  if (result.stdout_text.text != expected || (plan.chart && result.charts.empty())) {
    co_return fail(ErrorKind::kInternal,
                   fmt::format("the program in the sandbox wrote '{}' and left {} charts; bare, it "
                               "wrote '{}'",
                               result.stdout_text.text, result.charts.size(), expected));
  }
  for (const auto& [phase, took_us] : result.timings_us) {
    phases[phase].push_back(std::chrono::microseconds(took_us));
  }
  co_return took;
}

Task<Result<boost::json::object>> take_turns(Setting& setting, LocalHost& host,
                                             const Programs& plan) {
  BERTH_CO_TRY(const ExecutionRequest request, plan.program.request());
  BERTH_CO_CHECK_OK(co_await host.settle(request));
  std::vector<Duration> ours;
  std::vector<Duration> bare;
  Phases phases;
  for (int turn = -kUnmeasured; turn < plan.samples; ++turn) {
    BERTH_CO_CHECK_OK(unless_stopped(setting));
    BERTH_CO_TRY(const Spawned spawned, run_spawned(plan.beside, setting.folder));
    BERTH_CO_TRY(const Duration took, co_await run_program(host, plan, request, spawned.output, phases));
    if (turn < 0) continue;
    bare.push_back(spawned.ended - spawned.begun);
    ours.push_back(took);
  }
  // What came to be as it should after the last turn did so before it.
  if (plan.provider.ready > 0 && host.ready() == 0) {
    co_return fail(ErrorKind::kInternal, "the pool ran empty while it was measured");
  }
  boost::json::object report;
  report["ours"] = to_json(ours);
  report["beside"] = to_json(bare);
  boost::json::object& by_phase = report["phases"].emplace_object();
  for (const auto& [phase, samples] : phases) by_phase[phase] = to_json(samples);
  co_return report;
}

Task<Result<boost::json::object>> measure_programs(Setting& setting, std::shared_ptr<Programs> plan) {
  BERTH_CO_TRY(const auto host, co_await LocalHost::open(setting, plan->provider));
  auto report = co_await take_turns(setting, *host, *plan);
  const Status closed = co_await host->close();
  if (report && !closed) co_return fail(closed.error());
  co_return report;
}

}  // namespace

void add_programs(CLI::App& app, Family& chosen) {
  auto plan = std::make_shared<Programs>();
  CLI::App* command = app.add_subcommand("programs", "one program after the other, and bare");
  plan->provider.add_to(*command);
  plan->program.add_to(*command);
  command->add_option("--samples", plan->samples, "turns that count")->check(CLI::Range(1, 100'000));
  command->add_flag("--chart", plan->chart, "the program has to leave a chart");
  command->add_option("beside", plan->beside, "the command that does the same bare")->required();
  command->callback([plan, &chosen] {
    chosen = [plan](Setting& setting) { return measure_programs(setting, plan); };
  });
}

}  // namespace berth::bench
