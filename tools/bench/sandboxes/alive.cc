// Ever more sandboxes alive and idle: what each holds in memory, how fast one of them still runs a
// command, and how long it takes until nothing of one is left, one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "tools/bench/sandboxes/family.h"
#include "tools/bench/sandboxes/held.h"
#include "tools/bench/sandboxes/local_host.h"
#include "tools/bench/sandboxes/memory.h"
#include "tools/bench/sandboxes/program_options.h"
#include "tools/bench/sandboxes/spawned.h"

namespace berth::bench {
namespace {

using Ended = boost::asio::experimental::channel<void(boost::system::error_code)>;

constexpr std::size_t kMakersMax = 8;
constexpr std::chrono::milliseconds kUntilIdle{500};

struct Alive {
  ProviderOptions provider;
  std::vector<std::size_t> counts = {1, 10, 100, 1000};
  int commands = 50;  // at each of the counts
};

struct Herd {
  std::vector<std::shared_ptr<Held>> all;
  std::vector<Duration> made;
  std::size_t begun = 0;
  std::string problem;
};

Task<void> keep_making(Setting& setting, LocalHost& host, std::size_t until, Herd& herd) {
  while (herd.begun < until && herd.problem.empty()) {
    ++herd.begun;
    const Instant begun = now();
    Result<std::shared_ptr<Held>> one = co_await Held::make(host, setting);
    if (!one) {
      herd.problem = one.error().message();
      co_return;
    }
    herd.made.push_back(now() - begun);
    herd.all.push_back(std::move(*one));
  }
}

// A few at a time until there are so many.
Task<Status> grow(Setting& setting, LocalHost& host, std::size_t until, Herd& herd) {
  herd.made.clear();
  Ended ended(setting.executor, kMakersMax);
  for (std::size_t i = 0; i < kMakersMax; ++i) {
    boost::asio::co_spawn(setting.executor, keep_making(setting, host, until, herd),
                          [&ended](std::exception_ptr problem) {
                            if (problem) std::rethrow_exception(problem);
                            ended.try_send(boost::system::error_code());
                          });
  }
  for (std::size_t i = 0; i < kMakersMax; ++i) {
    co_await ended.async_receive(boost::asio::use_awaitable);
  }
  if (!herd.problem.empty()) co_return fail(ErrorKind::kInternal, herd.problem);
  co_return unless_stopped(setting);
}

Result<std::uint64_t> held_bytes(const std::vector<int>& processes) {
  std::uint64_t sum = 0;
  for (const int pid : processes) {
    BERTH_TRY(const std::uint64_t bytes, proportional_bytes(pid));
    sum += bytes;
  }
  return sum;
}

// Of the sandboxes' own processes, and of all that the provider needs for them.
Result<boost::json::object> memory(const LocalHost& host) {
  std::vector<int> inside;
  for (const SandboxRecord& record : host.records()) {
    if (record.ahead()) continue;
    if (record.cgroup.empty()) {
      return fail(ErrorKind::kUnavailable, "without control groups nobody knows whose a process is");
    }
    BERTH_TRY(const auto processes, processes_of(record.cgroup));
    inside.insert(inside.end(), processes.begin(), processes.end());
  }
  boost::json::object report;
  report["processes"] = inside.size();
  BERTH_TRY(report["sandboxes_bytes"], held_bytes(inside));
  BERTH_TRY(report["all_bytes"], held_bytes(descendants()));
  report["available_bytes"] = available_bytes();
  return report;
}

Task<Status> commands(Setting& setting, Sandbox& sandbox, int count, boost::json::object& report) {
  std::vector<Duration> ours;
  std::vector<Duration> bare;
  for (int turn = -2; turn < count; ++turn) {
    BERTH_CO_CHECK_OK(unless_stopped(setting));
    BERTH_CO_TRY(const Spawned spawned, run_spawned({"/bin/true"}, setting.folder));
    const Instant begun = now();
    const BodyResult ran = co_await run_true(sandbox);
    const Duration took = now() - begun;
    if (ran.kind != BodyResult::Kind::kCompleted) {
      co_return fail(ErrorKind::kInternal, "/bin/true did not end well: " + ran.message);
    }
    if (turn < 0) continue;
    ours.push_back(took);
    bare.push_back(spawned.ended - spawned.begun);
  }
  report["command"] = to_json(ours);
  report["command_bare"] = to_json(bare);
  co_return Status();
}

// One after the other, from as many as there are down to `until`.
Task<Result<boost::json::array>> shrink(Herd& herd, std::size_t until) {
  std::vector<Duration> took;
  while (herd.all.size() > until) {
    const std::shared_ptr<Held> last = std::move(herd.all.back());
    herd.all.pop_back();
    BERTH_CO_TRY(const Duration gone, co_await last->let_go());
    took.push_back(gone);
  }
  co_return to_json(took);
}

Task<Status> rise_and_fall(Setting& setting, LocalHost& host, const Alive& plan, Herd& herd,
                           boost::json::array& levels) {
  for (const std::size_t count : plan.counts) {
    boost::json::object level;
    level["count"] = count;
    BERTH_CO_CHECK_OK(co_await grow(setting, host, count, herd));
    level["made"] = to_json(herd.made);
    boost::asio::steady_timer idle(setting.executor, kUntilIdle);
    co_await idle.async_wait(boost::asio::use_awaitable);
    BERTH_CO_TRY(level["memory"], memory(host));
    levels.push_back(std::move(level));
    BERTH_CO_CHECK_OK(co_await commands(setting, herd.all.front()->sandbox(), plan.commands,
                                        levels.back().get_object()));
  }
  for (std::size_t i = plan.counts.size(); i-- > 0;) {
    BERTH_CO_TRY(levels[i].get_object()["gone"],
                 co_await shrink(herd, i == 0 ? 0 : plan.counts[i - 1]));
  }
  co_return Status();
}

Task<Result<boost::json::object>> measure_alive(Setting& setting, std::shared_ptr<Alive> plan) {
  std::sort(plan->counts.begin(), plan->counts.end());
  BERTH_CO_TRY(const auto host, co_await LocalHost::open(setting, plan->provider));
  Herd herd;
  boost::json::object report;
  boost::json::array levels;
  BERTH_CO_TRY(const ExecutionRequest sample, ProgramOptions().request());
  Status done = co_await host->settle(sample);
  if (done) {
    auto before = memory(*host);
    if (before) report["before"] = std::move(*before);
    done = co_await rise_and_fall(setting, *host, *plan, herd, levels);
  }
  // What is still held, however it came to that, has to end before the host does.
  while (!herd.all.empty()) co_await shrink(herd, herd.all.size() - 1);
  const Status closed = co_await host->close();
  if (!done) co_return fail(done.error());
  if (!closed) co_return fail(closed.error());
  report["levels"] = std::move(levels);
  co_return report;
}

}  // namespace

void add_alive(CLI::App& app, Family& chosen) {
  auto plan = std::make_shared<Alive>();
  CLI::App* command = app.add_subcommand("alive", "ever more sandboxes, alive and idle");
  plan->provider.add_to(*command);
  command->add_option("--counts", plan->counts, "how many")->check(CLI::Range(1, 10'000));
  command->add_option("--commands", plan->commands, "commands in one of them, at each count")
      ->check(CLI::Range(1, 100'000));
  command->callback([plan, &chosen] {
    chosen = [plan](Setting& setting) { return measure_alive(setting, plan); };
  });
}

}  // namespace berth::bench
