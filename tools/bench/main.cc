// berth-bench: measures the library and prints one JSON document. tools/bench/run calls it and puts
// its figures beside those of whole programs.
//
//   berth-bench [--turns N] [--seconds S] [--operations N] [--mebibytes N]
//               [--in-flight N ...]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/run_loop.h"
#include "core/lifecycle/system_clock.h"
#include "core/plugin/load.h"
#include "core/store/host_lock.h"
#include "core/store/sqlite/memory.h"
#include "core/store/sqlite/sqlite_store.h"
#include "tools/bench/abi_calls.h"
#include "tools/bench/bulk_output.h"
#include "tools/bench/durable_executions.h"
#include "tools/bench/provider_operations.h"
#include "tools/bench/raw_commits.h"

namespace berth::bench {
namespace {

struct Plan {
  int turns = 5;
  int operations = 20'000;
  std::size_t mebibytes = 256;  // of bulk output, each turn and each way
  double seconds = 1;  // of each measurement of a turn
  std::vector<std::size_t> in_flight = {1, 8, 64};
  std::filesystem::path binary;  // this program's own folder
  std::filesystem::path folder;  // a new one, beside the binaries: the disk that is measured
};

using Loaded = std::unique_ptr<plugin::LoadedProvider>;

Task<Result<Loaded>> load(boost::asio::any_io_executor executor, const Plan& plan,
                          registry::Hosting hosting) {
  plugin::LoadRequest request;
  request.file = plan.binary / "../lib/berth/providers/reference.so";
  request.worker = plan.binary / "berth-worker";
  request.hosting = hosting;
  request.state_dir =
      plan.folder / (hosting == registry::Hosting::kWorker ? "worker" : "in-process");
  request.owner_tag = "berth-bench";
  // Its sandboxes are entries in memory, so that what is measured is Berth's own work.
  request.configuration.providers["reference"].config["state"] = "memory";
  co_return co_await plugin::load_provider(executor, std::move(request));
}

Task<Result<boost::json::object>> measure_operations(boost::asio::any_io_executor executor,
                                                     const Plan& plan, registry::Hosting hosting) {
  BERTH_CO_TRY(const Loaded loaded, co_await load(executor, plan, hosting));
  BERTH_CO_TRY(const Samples samples, co_await lookups(loaded->provider(), plan.operations));
  co_await loaded->close(now() + std::chrono::seconds(10));
  co_return samples.to_json();
}

// One turn: the yardstick, then every number of calls in flight, each with a store of its own.
Task<Result<boost::json::object>> measure_turn(boost::asio::any_io_executor executor,
                                               const Plan& plan, Provider& provider, int turn) {
  const auto budget =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(plan.seconds));
  const auto folder = plan.folder / fmt::format("turn-{}", turn);
  std::filesystem::create_directory(folder);
  BERTH_CO_TRY(const Samples raw, raw_commits(folder / "raw.db", budget));
  boost::json::object rates;
  for (const std::size_t in_flight : plan.in_flight) {
    const auto state = folder / fmt::format("{}", in_flight);
    std::filesystem::create_directory(state);
    BERTH_CO_TRY(const auto lock, HostLock::acquire(state));
    BERTH_CO_TRY(const auto store, SqliteStore::open({.path = state / "berth.db"}));
    SystemClock clock;
    LifecycleServices services{.store = *store,
                               .provider = provider,
                               .clock = clock,
                               .holders = *lock,
                               .self = lock->holder(),
                               .host_tag = lock->host_tag()};
    BERTH_CO_TRY(const double rate,
                 co_await executions_per_second(services, executor, in_flight, budget));
    rates[fmt::format("{}", in_flight)] = rate;
  }
  boost::json::object measured;
  measured["raw_commits_per_second"] = static_cast<double>(raw.count()) / plan.seconds;
  measured["raw_commit"] = raw.to_json();
  measured["executions_per_second"] = std::move(rates);
  co_return measured;
}

Task<Result<boost::json::object>> measure(boost::asio::any_io_executor executor, const Plan& plan) {
  BERTH_CO_TRY(const AbiCalls calls, abi_calls(plan.binary / "../lib/berth/providers/reference.so"));
  boost::json::object report;
  report["abi_call"] = calls.call.to_json();
  report["abi_operation"] = calls.operation.to_json();
  BERTH_CO_TRY(report["operation_in_process"],
               co_await measure_operations(executor, plan, registry::Hosting::kInProcess));
  BERTH_CO_TRY(report["operation_in_worker"],
               co_await measure_operations(executor, plan, registry::Hosting::kWorker));
  BERTH_CO_TRY(report["bulk_output"],
               co_await bulk_output(executor, plan.binary.parent_path(), plan.folder, plan.turns,
                                    plan.mebibytes));
  BERTH_CO_TRY(const Loaded loaded, co_await load(executor, plan, registry::Hosting::kInProcess));
  boost::json::array turns;
  for (int turn = 0; turn < plan.turns; ++turn) {
    BERTH_CO_TRY(auto measured, co_await measure_turn(executor, plan, loaded->provider(), turn));
    turns.push_back(std::move(measured));
  }
  report["durable"] = std::move(turns);
  co_await loaded->close(now() + std::chrono::seconds(10));
  co_return report;
}

int run(const Plan& plan) {
  boost::asio::io_context loop(1);
  int code = 1;
  boost::asio::co_spawn(loop, measure(loop.get_executor(), plan),
                        [&](std::exception_ptr problem, Result<boost::json::object> report) {
                          if (problem) std::rethrow_exception(problem);
                          if (!report) {
                            fmt::print(stderr, "berth-bench: {}\n", report.error().message());
                            return;
                          }
                          fmt::print("{}\n", to_json_text(*report));
                          code = 0;
                        });
  run_loop(loop);
  return code;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  berth::bench::Plan plan;
  CLI::App app("Measures the library; tools/bench/run shows the figures in a table.");
  app.add_option("--turns", plan.turns, "turns of durable executions")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", plan.seconds, "seconds for each measurement of a turn")
      ->check(CLI::Range(0.05, 60.0));
  app.add_option("--in-flight", plan.in_flight, "numbers of durable executions at once")
      ->check(CLI::Range(1, 4096));
  app.add_option("--operations", plan.operations, "operations of the loaded provider, each way")
      ->check(CLI::Range(10, 10'000'000));
  app.add_option("--mebibytes", plan.mebibytes, "bulk output of each turn, each way")
      ->check(CLI::Range(1, 4096));
  CLI11_PARSE(app, argc, argv);
  (void)berth::sqlite::keep_spare_memory();  // as berth does
  plan.binary = std::filesystem::canonical("/proc/self/exe").parent_path();
  plan.folder = plan.binary / ("bench-" + berth::random_hex(8));
  std::filesystem::create_directory(plan.folder);
  const int code = berth::bench::run(plan);
  std::filesystem::remove_all(plan.folder);
  return code;
}
