#include "tools/berth/run_execution.h"

#include <functional>
#include <optional>
#include <utility>

#include "core/base/ids.h"

namespace berth::cli {
namespace {

template <class T>
T chosen(T given, T otherwise) {
  return given == T{} ? otherwise : given;
}

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

std::optional<plugin::Keeping> keeping_of(const RunOptions& options, const Settings& settings,
                                          const Context& context) {
  if (options.no_templates || !settings.keep_templates) return std::nullopt;
  auto folder = choose_keeper_dir(context.environment);
  if (!folder) return std::nullopt;
  return plugin::Keeping{std::move(*folder), settings.keeper_idle};
}

Task<Tried<ExecutionResult>> execute_on(Host& host, Context& context,
                                        const std::string& provider_id, ExecutionRequest request,
                                        RunObserver& observer) {
  const std::string id = chosen(provider_id, host.settings().provider);
  std::function<void(std::string_view)> progress = [&observer](std::string_view step) {
    observer.on_stage(step);
  };
  // Only a file selects; an option is for this once.
  if (provider_id.empty()) request.application = host.settings().selected_by.string();
  auto provider = co_await host.load(id, std::move(progress));
  if (!provider) co_return tl::unexpected<Failure>(std::move(provider).error());
  co_return co_await host.execute(**provider, std::move(request), &observer, context.cancellation);
}

}  // namespace berth::cli
