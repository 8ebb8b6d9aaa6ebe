#include "tools/bench/durable_executions.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>

#include "core/base/ids.h"
#include "tools/bench/samples.h"

namespace berth::bench {
namespace {

// Takes output and drops it.
class Drop final : public OutputSink {
 public:
  Flow write(Stream, std::string_view) override { return Flow::kContinue; }
  void on_resume(std::function<void()>) override {}
};

Task<BodyResult> body(Sandbox& sandbox) {
  Drop drop;
  Command command;
  command.argv = {"true"};
  const auto answer = co_await sandbox.run(std::move(command), drop);
  BodyResult result;
  result.message = answer.outcome.message;
  if (answer.outcome.done()) {
    result.kind = BodyResult::Kind::kCompleted;
    result.document = "{}";
    result.run_end = answer.value;
  }
  co_return result;
}

struct Progress {
  std::size_t completed = 0;
  Instant last_end;
  std::string problem;  // of the first call that did not complete
};

Task<void> keep_calling(LifecycleServices& services, Instant end, Progress& progress) {
  const std::string session = random_hex(8);
  for (std::size_t call = 0; now() < end && progress.problem.empty(); ++call) {
    SandboxRequest request;
    request.key = {"bench", session, fmt::format("{}", call)};
    request.spec_canonical = "{}";
    request.spec.owner_tag = services.host_tag;
    request.spec.languages = {"python"};
    const CallEnd ended = co_await with_sandbox(services, std::move(request), body);
    if (ended.status != CallEnd::Status::kCompleted && progress.problem.empty())
      progress.problem = ended.error ? ended.error->message() : ended.message + " (not completed)";
    ++progress.completed;
    progress.last_end = now();
  }
}

}  // namespace

Task<Result<double>> executions_per_second(LifecycleServices& services,
                                           boost::asio::any_io_executor executor,
                                           std::size_t in_flight, Duration budget) {
  Progress progress;
  boost::asio::experimental::channel<void(boost::system::error_code)> ended(executor, in_flight);
  const Instant begun = now();
  for (std::size_t i = 0; i < in_flight; ++i)
    boost::asio::co_spawn(executor, keep_calling(services, begun + budget, progress),
                          [&](std::exception_ptr problem) {
                            if (problem) std::rethrow_exception(problem);
                            ended.try_send(boost::system::error_code());
                          });
  for (std::size_t i = 0; i < in_flight; ++i)
    co_await ended.async_receive(boost::asio::use_awaitable);
  if (!progress.problem.empty()) co_return fail(ErrorKind::kInternal, progress.problem);
  const std::chrono::duration<double> took = progress.last_end - begun;
  co_return static_cast<double>(progress.completed) / took.count();
}

}  // namespace berth::bench
