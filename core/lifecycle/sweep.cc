#include "core/lifecycle/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/lifecycle/clock.h"
#include "core/lifecycle/machine.h"

namespace berth {
namespace {

constexpr Duration kListDeadline = std::chrono::seconds(30);

Task<Result<std::vector<Listed>>> list(LifecycleServices& services) {
  OperationContext context;
  context.deadline = services.clock.now() + kListDeadline;
  Answer<std::vector<Listed>> listed =
      co_await services.provider.list_owned(std::move(context), services.host_tag);
  if (listed.outcome.done()) co_return std::move(listed.value);
  co_return fail(ErrorKind::kUnavailable,
                 fmt::format("provider '{}' does not list what it holds ({})",
                             services.provider.identity().id, describe(listed.outcome)));
}

struct Compared {
  std::vector<Listed> made_ahead;
  std::vector<StrayResource> strays;
};

Task<Result<Compared>> compare(LifecycleServices& services, std::vector<Listed> listed) {
  struct Job {
    std::vector<Listed> listed;
    Compared out;
  };
  auto job = std::make_shared<Job>();
  job->listed = std::move(listed);
  UnitOfWork work = [job](Transaction& transaction) -> Status {
    job->out = {};
    for (const Listed& item : job->listed) {
      if (item.name.empty() && !item.holder.empty()) {
        job->out.made_ahead.push_back(item);
        continue;
      }
      BERTH_TRY(const std::optional<Intent> intent, transaction.intent(item.name));
      if (intent && intent->state != IntentState::kReleased) continue;
      job->out.strays.push_back({item, intent.has_value()});
    }
    return {};
  };
  const Status status = co_await services.store.read(std::move(work));
  if (!status) co_return fail(status.error());
  co_return std::move(job->out);
}

Task<Status> fill(LifecycleServices& services, ReconcileReport& report) {
  BERTH_CO_TRY(std::vector<Listed> listed, co_await list(services));
  BERTH_CO_TRY(Compared compared, co_await compare(services, std::move(listed)));
  report.made_ahead = std::move(compared.made_ahead);
  if (compared.strays.empty()) co_return Status();
  // The list is older than the rows: what another process deleted and released in between is gone.
  BERTH_CO_TRY(const std::vector<Listed> now, co_await list(services));
  for (StrayResource& stray : compared.strays) {
    const bool still = std::any_of(now.begin(), now.end(), [&stray](const Listed& item) {
      return item.name == stray.listed.name && item.ref == stray.listed.ref;
    });
    if (still) report.strays.push_back(std::move(stray));
  }
  co_return Status();
}

}  // namespace

Task<void> sweep(LifecycleServices& services, ReconcileReport& report) {
  const Status made = co_await fill(services, report);
  if (!made) report.sweep_error = made.error().message();
}

}  // namespace berth
