#include "core/host/leftover_cleanup.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/reconcile.h"

namespace berth {
namespace {

// For each sandbox that a dead host left: a run does not wait for the clean-up of others for long.
constexpr std::chrono::seconds kCleanupBudget{3};

Task<std::vector<std::string>> unresolved_intents(Store& store, const std::string& provider_id) {
  IntentFilter filter;
  filter.provider_id = provider_id;
  filter.unresolved_only = true;
  auto names = std::make_shared<std::vector<std::string>>();
  UnitOfWork work = [names, filter](Transaction& rows) -> Status {
    BERTH_TRY(const std::vector<Intent> intents, rows.intents(filter));
    for (const Intent& intent : intents) names->push_back(intent.name);
    return {};
  };
  const Status read = co_await store.read(std::move(work));
  (void)read;  // nothing is cleaned then; what is wrong with the store is told by what needs it
  co_return std::move(*names);
}

}  // namespace

struct LeftoverCleanup::Work {
  SqliteStore& store;
  LifecycleServices services;
  WallTime expiry;
  boost::asio::steady_timer done;
  bool stop = false;
  bool ended = false;
};

LeftoverCleanup::LeftoverCleanup(boost::asio::any_io_executor executor, SqliteStore& store,
                   const LifecycleServices& services, WallTime expiry)
    : work_(std::make_shared<Work>(
          Work{store, services, expiry, boost::asio::steady_timer(executor)})) {
  work_->services.limits.cleanup_budget = kCleanupBudget;
  work_->done.expires_at(boost::asio::steady_timer::time_point::max());
  boost::asio::co_spawn(executor, clean(work_), [work = work_](std::exception_ptr) {
    work->ended = true;
    work->done.cancel();
  });
}

Task<void> LeftoverCleanup::clean(std::shared_ptr<Work> work) {
  const auto expired = co_await work->store.expire_results(work->expiry);
  (void)expired;  // the next start tries again
  const std::string& provider = work->services.provider.identity().id;
  const auto names = co_await unresolved_intents(work->store, provider);
  for (const std::string& name : names) {
    if (work->stop) co_return;
    ReconcileOptions options;
    options.name = name;
    options.confirmed_only = true;
    options.due_only = true;
    const auto settled = co_await reconcile(work->services, options);
    (void)settled;  // what is not settled stays for a reconciliation that somebody reads
  }
}

Task<void> LeftoverCleanup::end() {
  work_->stop = true;
  boost::system::error_code ignored;
  while (!work_->ended) {
    co_await work_->done.async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
}

}  // namespace berth
