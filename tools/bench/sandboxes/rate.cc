// How many programs a second go through, with what is made ahead made again meanwhile.
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "tools/bench/sandboxes/family.h"
#include "tools/bench/sandboxes/local_host.h"
#include "tools/bench/sandboxes/program_options.h"
#include "tools/bench/sandboxes/spawned.h"

namespace berth::bench {
namespace {

using Ended = boost::asio::experimental::channel<void(boost::system::error_code)>;

struct Rate {
  ProviderOptions provider;
  ProgramOptions program;
  std::size_t count = 200;
  std::size_t in_flight = 4;
  std::vector<std::string> beside;
};

struct Work {
  std::size_t left = 0;
  std::string problem;
};

Task<void> keep_calling(LocalHost& host, const ExecutionRequest& request, Work& work) {
  while (work.left > 0 && work.problem.empty()) {
    --work.left;
    const Result<ExecutionResult> result = co_await host.execute(request);
    if (!result && work.problem.empty()) work.problem = result.error().message();
  }
}

Task<Result<Duration>> ours(const Setting& setting, LocalHost& host,
                            const ExecutionRequest& request, const Rate& plan) {
  Work work{plan.count, {}};
  Ended ended(setting.executor, plan.in_flight);
  const Instant begun = now();
  for (std::size_t i = 0; i < plan.in_flight; ++i) {
    boost::asio::co_spawn(setting.executor, keep_calling(host, request, work),
                          [&ended](std::exception_ptr problem) {
                            if (problem) std::rethrow_exception(problem);
                            ended.try_send(boost::system::error_code());
                          });
  }
  for (std::size_t i = 0; i < plan.in_flight; ++i) {
    co_await ended.async_receive(boost::asio::use_awaitable);
  }
  if (!work.problem.empty()) co_return fail(ErrorKind::kInternal, work.problem);
  co_return now() - begun;
}

Task<Result<boost::json::object>> compare(Setting& setting, LocalHost& host, const Rate& plan) {
  BERTH_CO_TRY(const ExecutionRequest request, plan.program.request());
  const std::size_t fewer = std::max<std::size_t>(plan.count / 2, 1);
  const Instant begun = now();
  BERTH_CO_TRY(const auto bare,
               run_spawned(std::vector(fewer, plan.beside), plan.in_flight, setting.folder));
  const std::chrono::duration<double> theirs = now() - begun;
  BERTH_CO_CHECK_OK(co_await host.settle(request));
  BERTH_CO_TRY(const std::chrono::duration<double> took,
               co_await ours(setting, host, request, plan));
  boost::json::object report;
  report["count"] = plan.count;
  report["ours_per_second"] = static_cast<double>(plan.count) / took.count();
  report["beside_per_second"] = static_cast<double>(bare.size()) / theirs.count();
  co_return report;
}

Task<Result<boost::json::object>> measure_rate(Setting& setting, std::shared_ptr<Rate> plan) {
  BERTH_CO_TRY(const auto host, co_await LocalHost::open(setting, plan->provider));
  auto report = co_await compare(setting, *host, *plan);
  const Status closed = co_await host->close();
  if (report && !closed) co_return fail(closed.error());
  co_return report;
}

}  // namespace

void add_rate(CLI::App& app, Family& chosen) {
  auto plan = std::make_shared<Rate>();
  CLI::App* command = app.add_subcommand("rate", "programs a second, a few at a time");
  plan->provider.add_to(*command);
  plan->program.add_to(*command);
  command->add_option("--count", plan->count, "how many in all")->check(CLI::Range(1, 1'000'000));
  command->add_option("--in-flight", plan->in_flight, "how many at a time")
      ->check(CLI::Range(1, 1000));
  command->add_option("beside", plan->beside, "the command that does the same bare")->required();
  command->callback([plan, &chosen] {
    chosen = [plan](Setting& setting) { return measure_rate(setting, plan); };
  });
}

}  // namespace berth::bench
