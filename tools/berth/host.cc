#include "tools/berth/host.h"

#include <fmt/format.h>

#include <utility>

#include "tools/berth/application.h"

namespace berth::cli {
namespace {

void log_provider_line(Console& console, plugin::LogLevel level, std::string_view line) {
  switch (level) {
    case plugin::LogLevel::kDebug:
    case plugin::LogLevel::kInfo: return;
    case plugin::LogLevel::kWarn: console.note(line); return;
    case plugin::LogLevel::kError: console.error(line); return;
  }
}

}  // namespace

Tried<Settings> read_settings(const Context& context) {
  auto place = choose_config_file(context.common.config, context.environment);
  if (!place) return failed(Exit::kConfiguration, std::move(place).error());
  auto settings = load_settings(*place);
  if (!settings) return failed(Exit::kConfiguration, std::move(settings).error());
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error) return std::move(*settings);  // in a folder that is gone
  auto application = find_application(here);
  if (!application) return failed(Exit::kConfiguration, std::move(application).error());
  if (*application) {
    settings->provider = (*application)->provider;
    settings->selected_by = (*application)->file;
  }
  return std::move(*settings);
}

Tried<ProviderFiles> read_provider_files(const Context& context, const Settings& settings) {
  auto state_dir = choose_state_dir(context.common.state_dir, context.environment);
  if (!state_dir) return failed(Exit::kState, std::move(state_dir).error());
  ProviderFiles files;
  files.search = registry::default_search_path();
  files.quarantine = std::make_unique<registry::Quarantine>(*state_dir / "quarantine.json");
  // The lock file lies beside the configuration that asks for it.
  std::filesystem::path folder = settings.file.parent_path();
  if (folder.empty()) {
    const auto place = choose_config_file({}, context.environment);
    if (place) folder = place->path.parent_path();
  }
  if (folder.empty()) return files;
  auto lock = registry::load_lock_file(folder / "providers.lock.json");
  if (!lock) return failed(Exit::kConfiguration, std::move(lock).error());
  files.lock = std::move(*lock);
  return files;
}

Tried<std::unique_ptr<Host>> Host::open(const Context& context,
                                        std::optional<plugin::Keeping> keeping) {
  auto settings = read_settings(context);
  if (!settings) return tl::unexpected<Failure>(std::move(settings).error());
  auto files = read_provider_files(context, *settings);
  if (!files) return tl::unexpected<Failure>(std::move(files).error());
  auto state_dir = choose_state_dir(context.common.state_dir, context.environment);
  if (!state_dir) return failed(Exit::kState, std::move(state_dir).error());
  HostOptions options;
  options.state_dir = *state_dir;
  options.state_dir_option = "--state-dir";
  options.search = std::move(files->search);
  options.configuration = settings->registry;
  options.lock = std::move(files->lock);
  options.limits = settings->deadlines;
  options.price = settings->price;
  options.credits = settings->credits;
  options.result_retention = settings->result_retention;
  options.packages = settings->packages;
  options.keeping = std::move(keeping);
  options.on_log = [&console = context.console](plugin::LogLevel level, std::string_view line) {
    log_provider_line(console, level, line);
  };
  auto host = berth::Host::open(context.executor, std::move(options));
  if (!host) return failed(Exit::kState, std::move(host).error());
  return std::unique_ptr<Host>(
      new Host(std::move(*settings), std::move(*state_dir), std::move(*host)));
}

Tried<std::unique_ptr<Host>> Host::open_existing(const Context& context) {
  const std::string& named = context.common.state_dir;
  std::error_code error;
  if (!named.empty() && !std::filesystem::exists(named, error) && !error) {
    return failed(Exit::kInput,
                  Error(ErrorKind::kNotFound,
                        fmt::format("--state-dir '{}': there is no such folder, so nothing is recorded in it",
                                    printable(named))));
  }
  return open(context);
}

Host::Host(Settings settings, std::filesystem::path state_dir, std::unique_ptr<berth::Host> host)
    : settings_(std::move(settings)), state_dir_(std::move(state_dir)), host_(std::move(host)) {}
Host::~Host() = default;

const Settings& Host::settings() const { return settings_; }
const std::filesystem::path& Host::state_dir() const { return state_dir_; }
Store& Host::store() { return host_->store(); }

Task<Tried<HostedProvider*>> Host::load(std::string id,
                                        std::function<void(std::string_view)> on_progress) {
  auto loaded = co_await host_->load(std::move(id), std::move(on_progress));
  if (!loaded) co_return failed(Exit::kProvider, std::move(loaded).error());
  co_return *loaded;
}

LifecycleServices Host::services_without(Provider& absent) {
  return host_->services_without(absent);
}

Task<Tried<ExecutionResult>> Host::execute(HostedProvider& provider, ExecutionRequest request,
                                           ExecutionObserver* observer,
                                           Cancellation& cancellation) {
  const Status usable = check_usable(*provider.loaded);
  if (!usable) {
    co_return failed(Exit::kProvider,
                     Error(usable.error().kind(),
                           fmt::format("{}\n  see 'berth doctor --provider {}'",
                                       usable.error().message(), provider.loaded->manifest().id)));
  }
  co_return co_await host_->execute(provider, std::move(request), observer, cancellation);
}

Task<void> Host::close() { co_await host_->close(); }

}  // namespace berth::cli
