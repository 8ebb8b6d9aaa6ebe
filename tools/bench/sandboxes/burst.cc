// Many programs asked for in the same moment: when each writes its first output, and when its receipt
// is there.
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

namespace berth::bench {
namespace {

using Ended = boost::asio::experimental::channel<void(boost::system::error_code)>;

struct Burst {
  ProviderOptions provider;
  ProgramOptions program;
  std::size_t count = 100;
  int rounds = 1;
};

class FirstOutput final : public ExecutionObserver {
 public:
  Flow on_output(const OutputChunk&) override {
    if (seen_ == Instant()) seen_ = now();
    return Flow::kContinue;
  }
  Instant seen() const { return seen_; }

 private:
  Instant seen_;
};

struct Round {
  Instant begun;
  std::vector<Duration> first_output;
  std::vector<Duration> receipt;
  std::string problem;  // the first one
};

Task<void> run_one(LocalHost& host, ExecutionRequest request, Round& round) {
  FirstOutput observer;
  const Result<ExecutionResult> result = co_await host.execute(std::move(request), &observer);
  if (!result || observer.seen() == Instant()) {
    if (round.problem.empty()) round.problem = result ? "no output" : result.error().message();
    co_return;
  }
  round.first_output.push_back(observer.seen() - round.begun);
  round.receipt.push_back(now() - round.begun);
}

Task<Status> at_once(const Setting& setting, LocalHost& host, const ExecutionRequest& request,
                     std::size_t count, Round& round) {
  Ended ended(setting.executor, count);
  round.begun = now();
  for (std::size_t i = 0; i < count; ++i) {
    boost::asio::co_spawn(setting.executor, run_one(host, request, round),
                          [&ended](std::exception_ptr problem) {
                            if (problem) std::rethrow_exception(problem);
                            ended.try_send(boost::system::error_code());
                          });
  }
  for (std::size_t i = 0; i < count; ++i) {
    co_await ended.async_receive(boost::asio::use_awaitable);
  }
  if (round.problem.empty()) co_return Status();
  co_return fail(ErrorKind::kInternal, round.problem);
}

Task<Result<boost::json::object>> rounds(Setting& setting, LocalHost& host, const Burst& plan) {
  BERTH_CO_TRY(const ExecutionRequest request, plan.program.request());
  boost::json::array all;
  for (int i = 0; i < plan.rounds; ++i) {
    BERTH_CO_CHECK_OK(co_await host.settle(request));
    Round round;
    BERTH_CO_CHECK_OK(co_await at_once(setting, host, request, plan.count, round));
    boost::json::object report;
    report["first_output"] = to_json(round.first_output);
    report["receipt"] = to_json(round.receipt);
    all.push_back(std::move(report));
  }
  boost::json::object report;
  report["rounds"] = std::move(all);
  co_return report;
}

Task<Result<boost::json::object>> measure_burst(Setting& setting, std::shared_ptr<Burst> plan) {
  BERTH_CO_TRY(const auto host, co_await LocalHost::open(setting, plan->provider));
  auto report = co_await rounds(setting, *host, *plan);
  const Status closed = co_await host->close();
  if (report && !closed) co_return fail(closed.error());
  co_return report;
}

}  // namespace

void add_burst(CLI::App& app, Family& chosen) {
  auto plan = std::make_shared<Burst>();
  CLI::App* command = app.add_subcommand("burst", "many programs in the same moment");
  plan->provider.add_to(*command);
  plan->program.add_to(*command);
  command->add_option("--count", plan->count, "how many")->check(CLI::Range(1, 10'000));
  command->add_option("--rounds", plan->rounds, "how often")->check(CLI::Range(1, 1000));
  command->callback([plan, &chosen] {
    chosen = [plan](Setting& setting) { return measure_burst(setting, plan); };
  });
}

}  // namespace berth::bench
