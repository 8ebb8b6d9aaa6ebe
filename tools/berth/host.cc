#include "tools/berth/host.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "core/lifecycle/reconcile.h"
#include "core/lifecycle/system_clock.h"
#include "core/store/host_lock.h"
#include "core/store/sqlite/sqlite_store.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds kCloseBound{10};
// For each sandbox that a dead host left: a run does not wait for the clean-up of others for long.
constexpr std::chrono::seconds kRecoveryBudget{3};

void log_provider_line(Console& console, plugin::LogLevel level, std::string_view line) {
  switch (level) {
    case plugin::LogLevel::kDebug:
    case plugin::LogLevel::kInfo: return;
    case plugin::LogLevel::kWarn: console.note(line); return;
    case plugin::LogLevel::kError: console.error(line); return;
  }
}

}  // namespace

// Destroyed from the last to the first: nothing outlives what it works with.
struct Host::Parts {
  Context context;
  Settings settings;
  std::filesystem::path state_dir;
  ProviderFiles files;
  std::unique_ptr<HostLock> lock;
  std::unique_ptr<SqliteStore> store;
  SystemClock clock;
  std::optional<Credits> credits;
  std::map<std::string, std::unique_ptr<HostedProvider>, std::less<>> providers;

  LifecycleServices services(Provider& provider);
};

Tried<Settings> read_settings(const Context& context) {
  auto place = choose_config_file(context.common.config, context.environment);
  if (!place) return failed(Exit::kConfiguration, std::move(place).error());
  auto settings = load_settings(*place);
  if (!settings) return failed(Exit::kConfiguration, std::move(settings).error());
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

Tried<std::unique_ptr<Host>> Host::open(const Context& context) {
  auto settings = read_settings(context);
  if (!settings) return tl::unexpected<Failure>(std::move(settings).error());
  auto files = read_provider_files(context, *settings);
  if (!files) return tl::unexpected<Failure>(std::move(files).error());
  auto state_dir = choose_state_dir(context.common.state_dir, context.environment);
  if (!state_dir) return failed(Exit::kState, std::move(state_dir).error());
  const Status prepared = prepare_state_dir(*state_dir);
  if (!prepared) return failed(Exit::kState, prepared.error());
  auto lock = HostLock::acquire(*state_dir);
  if (!lock) return failed(Exit::kState, std::move(lock).error());
  auto store = SqliteStore::open({.path = *state_dir / "berth.db"});
  if (!store) return failed(Exit::kState, std::move(store).error());
  auto parts = std::make_unique<Parts>(Parts{context, std::move(*settings), std::move(*state_dir),
                                             std::move(*files), std::move(*lock),
                                             std::move(*store), {}, {}, {}});
  if (parts->settings.credits) parts->credits.emplace(*parts->settings.credits);
  return std::unique_ptr<Host>(new Host(std::move(parts)));
}

Host::Host(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Host::~Host() = default;

const Settings& Host::settings() const { return parts_->settings; }
const std::filesystem::path& Host::state_dir() const { return parts_->state_dir; }
Store& Host::store() { return *parts_->store; }

LifecycleServices Host::Parts::services(Provider& provider) {
  LifecycleServices made{.store = *store,
                         .provider = provider,
                         .clock = clock,
                         .holders = *lock,
                         .self = lock->holder(),
                         .host_tag = lock->host_tag()};
  made.billing = credits ? &*credits : nullptr;
  made.price = settings.price;
  made.limits = settings.deadlines;
  return made;
}

Task<Tried<HostedProvider*>> Host::load(std::string id,
                                        std::function<void(std::string_view)> on_progress) {
  auto& providers = parts_->providers;
  if (const auto found = providers.find(id); found != providers.end()) co_return found->second.get();
  plugin::LoadRequest request;
  request.id = id;
  request.search = parts_->files.search;
  request.configuration = parts_->settings.registry;
  request.lock = parts_->files.lock;
  request.quarantine = parts_->files.quarantine.get();
  request.state_dir = parts_->state_dir / "providers" / id;
  request.owner_tag = parts_->lock->host_tag();
  request.log_file = parts_->state_dir / "logs" / (id + ".log");
  request.on_progress = std::move(on_progress);
  request.on_log = [&console = parts_->context.console](plugin::LogLevel level,
                                                        std::string_view line) {
    log_provider_line(console, level, line);
  };
  auto loaded = co_await plugin::load_provider(parts_->context.executor, std::move(request));
  if (!loaded) co_return failed(Exit::kProvider, std::move(loaded).error());
  LifecycleServices services = parts_->services((*loaded)->provider());
  auto hosted = std::make_unique<HostedProvider>(
      HostedProvider{std::move(*loaded), std::move(services)});
  HostedProvider* provider = hosted.get();
  providers.emplace(std::move(id), std::move(hosted));
  record_late_answers(provider->services, parts_->context.executor);
  co_return provider;
}

LifecycleServices Host::services_without(Provider& absent) { return parts_->services(absent); }

Task<void> Host::recover(HostedProvider& provider, std::shared_ptr<const bool> stop) {
  const WallTime expiry =
      parts_->clock.wall_now() -
      std::chrono::duration_cast<std::chrono::milliseconds>(parts_->settings.result_retention);
  const auto expired = co_await parts_->store->expire_results(expiry);
  (void)expired;  // the next start tries again
  IntentFilter filter;
  filter.provider_id = provider.loaded->manifest().id;
  filter.unresolved_only = true;
  const auto open = co_await read_intents(*parts_->store, filter);
  if (!open) co_return;
  LifecycleServices services = provider.services;
  services.limits.cleanup_budget = kRecoveryBudget;
  for (const Intent& intent : *open) {
    if (*stop) co_return;
    berth::ReconcileOptions options;
    options.name = intent.name;
    options.confirmed_only = true;
    options.due_only = true;
    const auto settled = co_await reconcile(services, options);
    (void)settled;  // what is not settled stays for `berth reconcile`, which says so
  }
}

Task<void> Host::close() {
  for (auto& [id, provider] : parts_->providers) {
    co_await provider->loaded->close(parts_->clock.now() + kCloseBound);
  }
  parts_->providers.clear();
}

}  // namespace berth::cli
