#include "tools/bench/remote/commands.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tools/bench/remote/service.h"
#include "tools/bench/samples.h"

namespace berth::bench {
namespace {

constexpr std::chrono::minutes kCommandPatience{5};

// Of all threads, in user and in kernel mode.
Duration processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// The number after `name` in a file of the kernel's about this process; 0 when it is not there.
std::uint64_t number_in(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::stoull(line.substr(name.size()));
  return 0;
}

Task<Status> run_one(Provider& provider, const std::string& ref, OutputSink& sink) {
  Command command;
  command.argv = {"true"};
  OperationContext context{.deadline = now() + kCommandPatience};
  const auto answer = co_await provider.run(std::move(context), ref, std::move(command), sink);
  if (answer.outcome.done() && answer.value.exit_code == 0) co_return Status{};
  co_return fail(ErrorKind::kInternal, "a command is not done: " + answer.outcome.message);
}

// Notes how late each piece of output is.
class Watch final : public OutputSink {
 public:
  Watch(Samples& late, Duration pause) : late_(late), pause_(pause) {}

  Flow write(Stream, std::string_view) override {
    const Instant came = now();
    if (last_ != Instant{}) late_.add(std::max(came - last_ - pause_, Duration{0}));
    last_ = came;
    return Flow::kContinue;
  }
  void on_resume(std::function<void()>) override {}

 private:
  Samples& late_;
  Duration pause_;
  Instant last_{};
};

using Ended = boost::asio::experimental::channel<void(boost::system::error_code)>;

struct Crowd {
  Samples late;
  std::string problem;  // of the first command that did not end well
};

Task<void> stream_one(Provider& provider, std::string ref, Duration pause, Crowd& crowd) {
  Watch watch(crowd.late, pause);
  const Status ran = co_await run_one(provider, ref, watch);
  if (!ran && crowd.problem.empty()) crowd.problem = ran.error().message();
}

}  // namespace

Task<Result<boost::json::object>> commands_in_turn(Provider& provider, std::size_t count) {
  BERTH_CO_TRY(const std::vector<Created> made, co_await make_sandboxes(provider, 1));
  Drop drop;
  for (std::size_t i = 0; i < count / 10; ++i)
    BERTH_CO_CHECK_OK(co_await run_one(provider, made[0].ref, drop));
  const Instant begun = now();
  const Duration before = processor_time();
  for (std::size_t i = 0; i < count; ++i)
    BERTH_CO_CHECK_OK(co_await run_one(provider, made[0].ref, drop));
  boost::json::object report;
  report["cpu_ns"] = (processor_time() - before).count();
  report["wall_ns"] = (now() - begun).count();
  report["commands"] = count;
  BERTH_CO_CHECK_OK(co_await end_sandboxes(provider, made));
  co_return report;
}

Task<Result<boost::json::object>> commands_at_once(boost::asio::any_io_executor executor,
                                                   Provider& provider, std::size_t sandboxes,
                                                   std::size_t each, Duration pause) {
  BERTH_CO_TRY(const std::vector<Created> made, co_await make_sandboxes(provider, sandboxes));
  const std::uint64_t before = number_in("/proc/self/smaps_rollup", "Pss:");
  const std::size_t count = sandboxes * each;
  Crowd crowd;
  Ended ended(executor, count);
  for (std::size_t i = 0; i < count; ++i)
    boost::asio::co_spawn(executor, stream_one(provider, made[i % sandboxes].ref, pause, crowd),
                          [&](std::exception_ptr problem) {
                            if (problem) std::rethrow_exception(problem);
                            ended.try_send(boost::system::error_code());
                          });
  // In the middle of their lives: all of them have begun, and none has ended.
  boost::asio::steady_timer middle(executor, 12 * pause);
  co_await middle.async_wait(boost::asio::use_awaitable);
  const std::uint64_t then = number_in("/proc/self/smaps_rollup", "Pss:");
  const std::uint64_t threads = number_in("/proc/self/status", "Threads:");
  std::size_t early = 0;
  while (ended.try_receive([&](boost::system::error_code) { ++early; })) continue;
  for (std::size_t i = early; i < count; ++i)
    co_await ended.async_receive(boost::asio::use_awaitable);
  if (!crowd.problem.empty()) co_return fail(ErrorKind::kInternal, crowd.problem);
  if (early > 0)
    co_return fail(ErrorKind::kInternal,
                   fmt::format("{} commands had ended before all streamed", early));
  boost::json::object report;
  report["commands"] = count;
  report["bytes_each"] = (std::max(then, before) - before) * 1024 / count;
  report["threads"] = threads;
  report["late"] = crowd.late.to_json();
  BERTH_CO_CHECK_OK(co_await end_sandboxes(provider, made));
  co_return report;
}

}  // namespace berth::bench
