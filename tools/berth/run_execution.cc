#include "tools/berth/run_execution.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/ids.h"

namespace berth::cli {
namespace {

template <class T>
T chosen(T given, T otherwise) {
  return given == T{} ? otherwise : given;
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

}  // namespace

std::string chosen_owner(const std::string& given) { return given.empty() ? user_name() : given; }

std::string chosen_session(const std::string& given) { return given.empty() ? "cli" : given; }

ExecutionRequest request_settings(const RunOptions& options, const Settings& settings) {
  ExecutionRequest request;
  request.network = options.network == "open" ? Network::kOpen : Network::kNone;
  request.limits.memory_bytes = chosen(options.limits.memory_bytes, settings.limits.memory_bytes);
  request.limits.disk_bytes = chosen(options.limits.disk_bytes, settings.limits.disk_bytes);
  request.limits.cpu_millis = chosen(options.limits.cpu_millis, settings.limits.cpu_millis);
  request.limits.processes = chosen(options.limits.processes, settings.limits.processes);
  const std::optional<Duration> timeout = options.timeout ? options.timeout : settings.timeout;
  request.timeout = timeout.value_or(Duration{0});
  request.key.owner = chosen_owner(options.owner);
  request.key.session = chosen_session(options.session);
  request.key.call = chosen(options.call, random_hex(16));
  request.turn = options.turn;
  return request;
}

Task<Tried<ExecutionResult>> execute_on(Host& host, Context& context,
                                        const std::string& provider_id, ExecutionRequest request,
                                        RunObserver& observer) {
  const std::string id = chosen(provider_id, host.settings().provider);
  std::function<void(std::string_view)> progress = [&observer](std::string_view step) {
    observer.on_stage(step);
  };
  auto provider = co_await host.load(id, std::move(progress));
  if (!provider) co_return tl::unexpected<Failure>(std::move(provider).error());
  const auto usable = check_usable(*(*provider)->loaded);
  if (!usable) co_return tl::unexpected<Failure>(usable.error());
  auto index = std::make_shared<PackageIndex>(host.settings().packages);
  index->cache_dir = host.state_dir() / "packages";
  request.index = std::move(index);
  Recovery recovery(context.executor, host, **provider);
  ExecutionResult result =
      co_await execute((*provider)->services, std::move(request), &observer, context.cancellation);
  co_await recovery.end();
  co_return result;
}

}  // namespace berth::cli
