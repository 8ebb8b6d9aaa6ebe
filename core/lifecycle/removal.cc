#include "core/lifecycle/removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/lifecycle/clock.h"
#include "core/lifecycle/in_flight.h"
#include "core/lifecycle/machine.h"

namespace berth {
namespace {

constexpr Duration kScopeDeadline = std::chrono::seconds(30);
constexpr Duration kPauseMin = std::chrono::milliseconds(200);
constexpr Duration kPauseMax = std::chrono::seconds(5);

}  // namespace

Task<Result<const Scope*>> current_scope(LifecycleServices& services) {
  const std::shared_ptr<InFlight> in_flight = services.in_flight;
  if (!in_flight->scope) {
    OperationContext context;
    context.deadline = services.clock.now() + kScopeDeadline;
    Answer<Scope> answer = co_await services.provider.scope(std::move(context));
    if (!answer.outcome.done())
      co_return fail(ErrorKind::kUnavailable,
                     fmt::format("provider '{}' does not say in which scope it works ({})",
                                 services.provider.identity().id, describe(answer.outcome)));
    in_flight->scope = std::move(answer.value);
  }
  co_return &*in_flight->scope;
}

Task<Answer<Destroyed>> remove_sandbox(LifecycleServices& services, std::string name,
                                       std::string ref, StageListener on_stage) {
  const Instant until = services.clock.now() + services.limits.cleanup_budget;
  Duration pause = kPauseMin;
  for (;;) {
    OperationContext context;
    context.deadline = until;
    context.on_stage = on_stage;
    Answer<Destroyed> answer = co_await services.provider.destroy(std::move(context), name, ref);
    if (event_of_destroy(answer, {}).kind == EventKind::kDeleteConfirmed) co_return answer;
    const Instant next = services.clock.now() + pause;
    if (next >= until) co_return answer;
    co_await services.clock.sleep_until(next, nullptr);
    pause = std::min(2 * pause, kPauseMax);
  }
}

std::string scope_difference(const Scope& before, const Scope& now) {
  for (std::size_t i = 0; i < before.size() && i < now.size(); ++i) {
    if (before[i] != now[i])
      return fmt::format("{} was '{}' and is now '{}'", before[i].first, before[i].second,
                         now[i].second);
  }
  return fmt::format("it had {} fields and has {} now", before.size(), now.size());
}

}  // namespace berth
