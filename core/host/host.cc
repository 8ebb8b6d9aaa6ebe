#include "core/host/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/host/leftover_cleanup.h"
#include "core/host/state_dir.h"
#include "core/lifecycle/reconcile.h"
#include "core/lifecycle/system_clock.h"
#include "core/registry/quarantine.h"
#include "core/store/host_lock.h"
#include "core/store/sqlite/sqlite_store.h"

namespace berth {
namespace {

constexpr std::chrono::seconds kCloseBound{10};

registry::SearchPath search_path(const HostOptions& options) {
  registry::SearchPath path =
      options.search.folders.empty() ? registry::default_search_path() : options.search;
  if (!options.installation.empty() && !path.privileged) {
    path.folders.push_back(options.installation / BERTH_INSTALL_LIBDIR / "berth/providers");
    path.folders.push_back(options.installation / "lib/berth/providers");
  }
  return path;
}

// Empty: beside this program, where the loader looks by itself.
std::filesystem::path find_worker(const std::filesystem::path& installation) {
  if (installation.empty()) return {};
  for (const char* place : {"libexec/berth/berth-worker", "bin/berth-worker"}) {
    std::error_code error;
    if (std::filesystem::exists(installation / place, error)) return installation / place;
  }
  return {};
}

}  // namespace

// Destroyed from the last to the first: nothing outlives what it works with.
struct Host::Parts {
  boost::asio::any_io_executor executor;
  HostOptions options;
  std::shared_ptr<const PackageIndex> packages;
  std::unique_ptr<registry::Quarantine> quarantine;
  std::unique_ptr<HostLock> lock;
  std::unique_ptr<SqliteStore> store;
  SystemClock clock;
  std::optional<Credits> credits;
  std::map<std::string, std::unique_ptr<HostedProvider>, std::less<>> providers;

  LifecycleServices services(Provider& provider);
  plugin::LoadRequest load_request(const std::string& id) const;
};

Status check_usable(const plugin::LoadedProvider& provider) {
  const ProbeReport& probe = provider.probe_report();
  if (probe.usable) return {};
  std::string sentence =
      fmt::format("provider '{}' does not work here", provider.manifest().id);
  for (const ProbeItem& item : probe.items) {
    if (!item.ok) sentence += fmt::format("\n  {}: {}; {}", item.name, item.detail, item.remedy);
  }
  return fail(ErrorKind::kUnavailable, std::move(sentence));
}

bool runs_programs(const plugin::LoadedProvider& provider) {
  const auto& items = provider.probe_report().items;
  return std::none_of(items.begin(), items.end(),
                      [](const ProbeItem& item) { return item.name == "berth.simulated" && !item.ok; });
}

Result<std::unique_ptr<Host>> Host::open(boost::asio::any_io_executor executor,
                                         HostOptions options) {
  if (options.state_dir.empty()) {
    return fail(ErrorKind::kInvalidArgument, "a host needs a state folder, and none is named");
  }
  if (options.state_dir.is_relative()) {
    std::error_code error;
    options.state_dir = std::filesystem::absolute(options.state_dir, error).lexically_normal();
    if (error) {
      return fail(ErrorKind::kIo, "cannot tell where the state folder is: " + error.message());
    }
  }
  BERTH_CHECK_OK(validate(options.packages));
  BERTH_CHECK_OK(prepare_state_dir(options.state_dir, options.state_dir_option));
  BERTH_TRY(auto lock, HostLock::acquire(options.state_dir));
  BERTH_TRY(auto store, SqliteStore::open({.path = options.state_dir / "berth.db"}));
  options.search = search_path(options);
  auto packages = std::make_shared<PackageIndex>(options.packages);
  if (packages->cache_dir.empty()) packages->cache_dir = options.state_dir / "packages";
  auto quarantine =
      std::make_unique<registry::Quarantine>(options.state_dir / "quarantine.json");
  auto parts = std::make_unique<Parts>(Parts{std::move(executor), std::move(options),
                                             std::move(packages), std::move(quarantine),
                                             std::move(lock), std::move(store), {}, {}, {}});
  if (parts->options.credits) parts->credits.emplace(*parts->options.credits);
  return std::unique_ptr<Host>(new Host(std::move(parts)));
}

Host::Host(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Host::~Host() = default;

Store& Host::store() { return *parts_->store; }

LifecycleServices Host::Parts::services(Provider& provider) {
  LifecycleServices made{.store = *store,
                         .provider = provider,
                         .clock = clock,
                         .holders = *lock,
                         .self = lock->holder(),
                         .host_tag = lock->host_tag()};
  made.billing = credits ? &*credits : nullptr;
  made.price = options.price;
  made.limits = options.limits;
  return made;
}

plugin::LoadRequest Host::Parts::load_request(const std::string& id) const {
  plugin::LoadRequest request;
  request.id = id;
  request.search = options.search;
  request.configuration = options.configuration;
  request.lock = options.lock;
  request.quarantine = quarantine.get();
  request.state_dir = options.state_dir / "providers" / id;
  request.owner_tag = lock->host_tag();
  request.log_file = options.state_dir / "logs" / (id + ".log");
  request.on_log = options.on_log;
  request.worker = find_worker(options.installation);
  request.keeping = options.keeping;
  return request;
}

Task<Result<HostedProvider*>> Host::load(std::string id,
                                         std::function<void(std::string_view)> on_progress) {
  auto& providers = parts_->providers;
  if (const auto found = providers.find(id); found != providers.end()) {
    co_return found->second.get();
  }
  plugin::LoadRequest request = parts_->load_request(id);
  request.on_progress = std::move(on_progress);
  BERTH_CO_TRY(auto loaded,
               co_await plugin::load_provider(parts_->executor, std::move(request)));
  // Somebody else may have asked for the same provider meanwhile.
  if (const auto found = providers.find(id); found != providers.end()) {
    co_await loaded->close(parts_->clock.now() + kCloseBound);
    co_return found->second.get();
  }
  LifecycleServices services = parts_->services(loaded->provider());
  if (!runs_programs(*loaded)) {
    services.price = Money();
    services.billing = nullptr;  // nor does it take credit to ask for what is free
  }
  auto hosted = std::make_unique<HostedProvider>(
      HostedProvider{std::move(loaded), std::move(services)});
  HostedProvider* provider = hosted.get();
  providers.emplace(std::move(id), std::move(hosted));
  record_late_answers(provider->services, parts_->executor);
  co_return provider;
}

LifecycleServices Host::services_without(Provider& absent) { return parts_->services(absent); }

Task<ExecutionResult> Host::execute(HostedProvider& provider, ExecutionRequest request,
                                    ExecutionObserver* observer, Cancellation& cancellation) {
  if (request.index == nullptr) request.index = parts_->packages;
  if (!runs_programs(*provider.loaded)) request.simulated_by = provider.loaded->manifest().id;
  std::optional<LeftoverCleanup> cleanup;
  if (!std::exchange(provider.cleaned_up, true)) {
    const WallTime expiry =
        parts_->clock.wall_now() -
        std::chrono::duration_cast<std::chrono::milliseconds>(parts_->options.result_retention);
    cleanup.emplace(parts_->executor, *parts_->store, provider.services, expiry);
  }
  ExecutionResult result = co_await berth::execute(provider.services, std::move(request), observer,
                                                   cancellation);
  if (cleanup) co_await cleanup->end();
  co_return result;
}

Task<Result<std::vector<Receipt>>> Host::receipts(ReceiptFilter filter) {
  auto found = std::make_shared<std::vector<Receipt>>();
  UnitOfWork work = [found, filter = std::move(filter)](Transaction& rows) -> Status {
    BERTH_TRY(*found, rows.receipts(filter));
    return {};
  };
  BERTH_CO_CHECK_OK(co_await parts_->store->read(std::move(work)));
  co_return std::move(*found);
}

Task<void> Host::close() {
  for (auto& [id, provider] : parts_->providers) {
    co_await provider->loaded->close(parts_->clock.now() + kCloseBound);
  }
  parts_->providers.clear();
}

}  // namespace berth
