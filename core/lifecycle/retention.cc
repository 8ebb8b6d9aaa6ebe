// What lasts beyond calls: sessions that retire, results that expire, answers that come late.
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <utility>

#include "core/lifecycle/clock.h"
#include "core/lifecycle/guards.h"
#include "core/lifecycle/machine.h"
#include "core/lifecycle/reconcile.h"

namespace berth {
namespace {

// One unit of work drops at most this many results, so that it stays short.
constexpr std::size_t kExpireMax = 200;

Status append_late(Transaction& transaction, const LateAnswer& late, WallTime at) {
  BERTH_TRY(const std::optional<Intent> intent, transaction.intent(late.name));
  if (!intent) return {};  // evidence about nothing that this store knows
  std::string evidence = fmt::format("late answer to {}: {}", late.slot, describe(late.outcome));
  if (!late.ref.empty()) evidence += fmt::format(", ref '{}'", late.ref);
  return transaction.append_journal(
      {late.name, intent->state, intent->state, "late_answer", std::move(evidence), at});
}

Status expire_one(Transaction& transaction, Intent intent, WallTime now) {
  Event event;
  event.kind = EventKind::kExpire;
  event.at = now;
  event.evidence = "retention has passed";
  const std::uint64_t revision = intent.revision;
  BERTH_TRY(Transition made, transition(std::move(intent), event));
  made.intent.revision = revision + 1;
  BERTH_CHECK_OK(
      transaction.append_journal({made.intent.name, IntentState::kReleased, made.intent.state,
                                  std::string(to_string(event.kind)), event.evidence, now}));
  return transaction.update_intent(made.intent, revision);
}

}  // namespace

void record_late_answers(LifecycleServices& services, boost::asio::any_io_executor executor) {
  services.provider.on_late_answer([&services, executor](LateAnswer late) {
    boost::asio::co_spawn(
        executor,
        [](LifecycleServices& with, LateAnswer answer) -> Task<void> {
          const WallTime at = with.clock.wall_now();
          // A store that is down loses this line and nothing else: it is evidence, not state.
          UnitOfWork work = [answer = std::move(answer), at](Transaction& transaction) {
            return append_late(transaction, answer, at);
          };
          const Status kept = co_await with.store.commit(std::move(work));
          (void)kept;
        }(services, std::move(late)),
        boost::asio::detached);
  });
}

Task<Result<std::size_t>> expire_results(LifecycleServices& services, WallTime released_before) {
  struct Job {
    std::string after;
    bool more = false;
    std::size_t dropped = 0;
  };
  std::size_t dropped = 0;
  std::string after;
  for (;;) {
    auto job = std::make_shared<Job>();
    const WallTime now = services.clock.wall_now();
    UnitOfWork work = [job, after, now, released_before](Transaction& transaction) -> Status {
      IntentFilter filter;
      filter.count_max = kExpireMax;
      filter.after_name = after;
      job->dropped = 0;
      BERTH_TRY(std::vector<Intent> page, transaction.intents(filter));
      job->more = page.size() == kExpireMax;
      if (!page.empty()) job->after = page.back().name;
      for (Intent& intent : page) {
        const bool kept = intent.state != IntentState::kReleased || !intent.result ||
                          intent.updated_at >= released_before;
        if (kept) continue;
        BERTH_CHECK_OK(expire_one(transaction, std::move(intent), now));
        job->dropped += 1;
      }
      return {};
    };
    const Status status = co_await services.store.commit(std::move(work));
    if (!status) co_return fail(status.error());
    dropped += job->dropped;
    if (!job->more) co_return dropped;
    after = job->after;
  }
}

Task<Result<SessionRecord>> begin_retire(LifecycleServices& services, CallKey session) {
  auto job = std::make_shared<SessionRecord>();
  const WallTime now = services.clock.wall_now();
  UnitOfWork work = [job, session, now](Transaction& transaction) -> Status {
    BERTH_TRY(const std::optional<SessionRecord> stored,
              transaction.session(session.owner, session.session));
    *job = stored.value_or(SessionRecord{session.owner, session.session, SessionState::kOpen, now});
    if (job->state != SessionState::kOpen) return {};
    job->state = SessionState::kRetiring;
    job->updated_at = now;
    return transaction.put_session(*job);
  };
  const Status status = co_await services.store.commit(std::move(work));
  if (!status) co_return fail(status.error());
  co_return *job;
}

Task<Result<std::vector<Intent>>> finish_retire(LifecycleServices& services, CallKey session) {
  auto job = std::make_shared<std::vector<Intent>>();
  const WallTime now = services.clock.wall_now();
  UnitOfWork work = [job, session, now](Transaction& transaction) -> Status {
    BERTH_TRY(const std::optional<SessionRecord> stored,
              transaction.session(session.owner, session.session));
    if (!stored || stored->state == SessionState::kOpen)
      return fail(ErrorKind::kRefused,
                  fmt::format("session '{}' is open; begin its retirement first", session.session));
    IntentFilter filter;
    filter.owner = session.owner;
    filter.session = session.session;
    filter.unresolved_only = true;
    BERTH_TRY(*job, transaction.intents(filter));
    if (stored->state == SessionState::kRetired) return {};
    if (!job->empty() && guard(Guard::kNothingUnresolved)) return {};
    return transaction.put_session({session.owner, session.session, SessionState::kRetired, now});
  };
  const Status status = co_await services.store.commit(std::move(work));
  if (!status) co_return fail(status.error());
  co_return std::move(*job);
}

Task<Result<RetireReport>> retire_session(LifecycleServices& services, CallKey session) {
  const Result<SessionRecord> begun = co_await begin_retire(services, session);
  if (!begun) co_return fail(begun.error());
  RetireReport report;
  ReconcileOptions options;
  options.owner = session.owner;
  options.session = session.session;
  options.confirmed_only = true;
  Result<ReconcileReport> cleaned = co_await reconcile(services, std::move(options));
  if (!cleaned) co_return fail(std::move(cleaned).error());
  report.cleaned = std::move(*cleaned);
  Result<std::vector<Intent>> open = co_await finish_retire(services, session);
  if (!open) co_return fail(std::move(open).error());
  report.unresolved = std::move(*open);
  report.state = report.unresolved.empty() ? SessionState::kRetired : SessionState::kRetiring;
  co_return report;
}

}  // namespace berth
