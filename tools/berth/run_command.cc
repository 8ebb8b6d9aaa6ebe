// berth run: one program, whole. Its output is passed on while it runs; what is said about it comes
// after it, on standard error.
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/ids.h"
#include "core/execution/execution.h"
#include "tools/berth/chart_files.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/program_source.h"
#include "tools/berth/run_observer.h"
#include "tools/berth/run_report.h"

namespace berth::cli {
namespace {

template <class T>
T chosen(T given, T otherwise) {
  return given == T{} ? otherwise : given;
}

ExecutionRequest make_request(const RunOptions& options, const Settings& settings,
                              ProgramSource source, std::vector<RequestFile> files) {
  ExecutionRequest request;
  request.title = std::move(source.title);
  request.code = std::move(source.code);
  request.language = source.language;
  request.file_name = std::move(source.file_name);
  request.files = std::move(files);
  request.network = options.network == "open" ? Network::kOpen : Network::kNone;
  request.limits.memory_bytes = chosen(options.limits.memory_bytes, settings.limits.memory_bytes);
  request.limits.disk_bytes = chosen(options.limits.disk_bytes, settings.limits.disk_bytes);
  request.limits.cpu_millis = chosen(options.limits.cpu_millis, settings.limits.cpu_millis);
  request.limits.processes = chosen(options.limits.processes, settings.limits.processes);
  const std::optional<Duration> timeout = options.timeout ? options.timeout : settings.timeout;
  request.timeout = timeout.value_or(Duration{0});
  request.key.owner = chosen(options.owner, user_name());
  request.key.session = chosen(options.session, std::string("cli"));
  request.key.call = chosen(options.call, random_hex(16));
  request.turn = options.turn;
  return request;
}

Tried<ExecutionRequest> read_request(const RunOptions& options, const Settings& settings) {
  auto source = read_program(options);
  if (!source) return failed(Exit::kInput, std::move(source).error());
  auto files = read_input_files(options.input_files);
  if (!files) return failed(Exit::kInput, std::move(files).error());
  ExecutionRequest request =
      make_request(options, settings, std::move(*source), std::move(*files));
  const Status valid = validate(request);
  if (!valid) return failed(Exit::kInput, valid.error());
  return request;
}

// Refuses a provider that says itself that it cannot work here, before anything is recorded.
tl::expected<void, Failure> check_usable(const plugin::LoadedProvider& provider) {
  const ProbeReport& probe = provider.probe_report();
  if (probe.usable) return {};
  const std::string& id = provider.manifest().id;
  std::string sentence = fmt::format("provider '{}' does not work here", id);
  for (const ProbeItem& item : probe.items) {
    if (!item.ok) sentence += fmt::format("\n  {}: {}; {}", item.name, item.detail, item.remedy);
  }
  return failed(Exit::kProvider,
                Error(ErrorKind::kUnavailable,
                      sentence + fmt::format("\n  see 'berth doctor --provider {}'", id)));
}

// Clean-up after dead hosts, beside the run itself.
class Recovery {
 public:
  Recovery(boost::asio::any_io_executor executor, Host& host, HostedProvider& provider)
      : done_(executor) {
    done_.expires_at(boost::asio::steady_timer::time_point::max());
    boost::asio::co_spawn(executor, host.recover(provider, stop_), [this](std::exception_ptr) {
      ended_ = true;
      done_.cancel();
    });
  }

  // Lets it finish the step it is at.
  Task<void> end() {
    *stop_ = true;
    boost::system::error_code ignored;
    while (!ended_) {
      co_await done_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    }
  }

 private:
  std::shared_ptr<bool> stop_ = std::make_shared<bool>(false);
  boost::asio::steady_timer done_;
  bool ended_ = false;
};

// Everything between the open host and the result.
Task<Tried<ExecutionResult>> execute_on(Host& host, Context& context, const RunOptions& options,
                                        ExecutionRequest request, RunObserver& observer) {
  const std::string id = chosen(options.provider, host.settings().provider);
  std::function<void(std::string_view)> progress = [&observer](std::string_view step) {
    observer.on_stage(step);
  };
  auto provider = co_await host.load(id, std::move(progress));
  if (!provider) co_return tl::unexpected<Failure>(std::move(provider).error());
  const auto usable = check_usable(*(*provider)->loaded);
  if (!usable) co_return tl::unexpected<Failure>(usable.error());
  Recovery recovery(context.executor, host, **provider);
  ExecutionResult result = co_await execute((*provider)->services, std::move(request), &observer,
                                            context.cancellation);
  co_await recovery.end();
  co_return result;
}

}  // namespace

Task<int> run_program(Context& context, RunOptions options) {
  auto settings = read_settings(context);
  if (!settings) co_return report(context, settings.error());
  auto request = read_request(options, *settings);
  if (!request) co_return report(context, request.error());
  context.watch_signals();
  const std::string title = request->title;
  auto host = Host::open(context);
  if (!host) co_return report(context, host.error());

  RunObserver observer(context, options.quiet);
  auto result = co_await execute_on(**host, context, options, std::move(*request), observer);
  co_await observer.finish();
  co_await (*host)->close();
  if (!result) co_return report(context, result.error());
  co_return report_run(context, options, title, *result, observer.output_failure());
}

}  // namespace berth::cli
