#include "core/lifecycle/reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/ids.h"
#include "core/lifecycle/clock.h"
#include "core/lifecycle/commits.h"
#include "core/lifecycle/guards.h"
#include "core/lifecycle/in_flight.h"
#include "core/lifecycle/removal.h"
#include "core/lifecycle/replay.h"
#include "core/lifecycle/sweep.h"

namespace berth {
namespace {

using Settled = ReconciledIntent::Result;

constexpr Duration kLookupDeadline = std::chrono::seconds(30);
constexpr auto kDueMin = std::chrono::seconds(1);
constexpr auto kDueMax = std::chrono::minutes(5);
// Each time another process has changed the intent meanwhile, which ends with one of them holding it.
constexpr int kTakeOversMax = 4;

// One intent in the hands of a reconciliation.
class Reconciliation {
 public:
  Reconciliation(LifecycleServices& services, const ReconcileOptions& options, Intent intent)
      : services_(services),
        options_(options),
        before_(intent.state),
        word_(services.holders.left_word(intent.name)),
        progress_(std::move(intent)) {
    look();
  }

  Task<ReconciledIntent> proceed();

 private:
  Task<ReconciledIntent> attempt();
  Task<std::optional<ReconciledIntent>> read_again();
  void look();
  Task<std::optional<ReconciledIntent>> check_scope();
  Task<ReconciledIntent> take_over();
  Task<ReconciledIntent> find_out();
  Task<ReconciledIntent> remove();
  Task<Result<Effects>> commit(std::vector<Event> events);
  Event established_event() const;
  Event event(EventKind kind, std::string evidence) const;
  bool holder_is_gone() const;
  Settlement settlement() const;
  ReconciledIntent report(Settled result, std::string detail) const;

  LifecycleServices& services_;
  const ReconcileOptions& options_;
  IntentState before_;
  bool had_receipt_ = false;
  std::optional<std::string> word_;  // of a host that could not record how it ended
  bool overtaken_ = false;           // by another process, which changed the intent meanwhile
  Progress progress_;
};

Task<ReconciledIntent> Reconciliation::proceed() {
  for (int tries = 1;; ++tries) {
    ReconciledIntent done = co_await attempt();
    if (!overtaken_ || tries == kTakeOversMax) co_return done;
    std::optional<ReconciledIntent> settled = co_await read_again();
    if (settled) co_return std::move(*settled);
    if (!overtaken_) co_return done;
  }
}

// What the other one has left; overtaken_ falls when nothing was changed after all.
Task<std::optional<ReconciledIntent>> Reconciliation::read_again() {
  auto found = std::make_shared<std::optional<Intent>>();
  UnitOfWork work = [found, name = progress_.intent().name](Transaction& transaction) -> Status {
    BERTH_TRY(*found, transaction.intent(name));
    return {};
  };
  const Status status = co_await services_.store.read(std::move(work));
  if (!status || !*found) co_return report(Settled::kUnresolved, "it cannot be read again");
  overtaken_ = (*found)->revision != progress_.intent().revision;
  progress_ = Progress(std::move(**found));
  look();
  if (progress_.intent().state != IntentState::kReleased) co_return std::nullopt;
  co_return report(Settled::kReleased, "another process settled it at the same time");
}

void Reconciliation::look() {
  const Intent& intent = progress_.intent();
  had_receipt_ = intent.state == IntentState::kUncertain || intent.cleanup_attempts > 0;
}

Task<ReconciledIntent> Reconciliation::attempt() {
  overtaken_ = false;
  const Intent& intent = progress_.intent();
  if (intent.provider_id != services_.provider.identity().id)
    co_return report(Settled::kForeign,
                     fmt::format("provider '{}' is needed to settle it", intent.provider_id));
  const bool unconfirmed =
      intent.state == IntentState::kUncertain || intent.state == IntentState::kDispatched;
  if (options_.confirmed_only && unconfirmed)
    co_return report(Settled::kLeft, fmt::format("its create is uncertain; resolve it with `{}`",
                                                 resolve_command(intent)));
  if (options_.due_only && services_.clock.wall_now() < due_at(intent))
    co_return report(Settled::kLeft, "it was tried a short while ago");
  const auto place = services_.in_flight->try_enter(intent.name);
  if (place == nullptr) co_return report(Settled::kHeld, "this process works on it");
  // Only what needs no word with the provider may be settled from another scope.
  if (intent.state != IntentState::kIntended && options_.established != Established::kAbsent) {
    std::optional<ReconciledIntent> foreign = co_await check_scope();
    if (foreign) co_return std::move(*foreign);
  }
  co_return co_await take_over();
}

Task<std::optional<ReconciledIntent>> Reconciliation::check_scope() {
  const Result<const Scope*> scope = co_await current_scope(services_);
  if (!scope) co_return report(Settled::kUnresolved, scope.error().message());
  const Intent& intent = progress_.intent();
  if (**scope == intent.scope || !guard(Guard::kScopeUnchanged)) co_return std::nullopt;
  co_return report(Settled::kForeign,
                   fmt::format("it was made in another scope: {}; restore the scope to settle it",
                               scope_difference(intent.scope, **scope)));
}

bool Reconciliation::holder_is_gone() const {
  const Holder& holder = progress_.intent().holder;
  // Nobody's, or this process's own, which does not work on it: it is not in flight.
  if (holder == Holder{} || holder == services_.self) return true;
  return services_.holders.is_dead(holder);
}

Task<ReconciledIntent> Reconciliation::take_over() {
  Event recover = event(EventKind::kRecover, fmt::format("host {}", services_.self.host_id));
  recover.holder = services_.self;
  recover.holder_gone = holder_is_gone();
  std::vector<Event> events;
  const bool held = !recover.holder_gone;
  events.push_back(std::move(recover));
  if (options_.established) events.push_back(established_event());
  const Result<Effects> taken = co_await commit(std::move(events));
  if (!taken && held && taken.error().kind() == ErrorKind::kRefused)
    co_return report(Settled::kHeld, taken.error().message());
  if (!taken) co_return report(Settled::kUnresolved, taken.error().message());
  switch (progress_.intent().state) {
    case IntentState::kReleased:
      co_return report(Settled::kReleased, options_.established
                                               ? "established absent"
                                               : "nothing was asked of the provider");
    case IntentState::kCleaning:
      co_return co_await remove();
    case IntentState::kUncertain:
      co_return co_await find_out();
    case IntentState::kIntended:
    case IntentState::kDispatched:
    case IntentState::kCreated:
    case IntentState::kRunning:
      break;
  }
  co_return report(Settled::kUnresolved, "it could not be taken over");
}

// Lookup first: what is found is adopted and deleted. What is not found is fenced where that is
// possible, since one answer of absence does not stop a create that is still under way.
Task<ReconciledIntent> Reconciliation::find_out() {
  const std::string name = progress_.intent().name;
  OperationContext context;
  context.deadline = services_.clock.now() + kLookupDeadline;
  Answer<Found> looked = co_await services_.provider.lookup(context, name);
  Event found = event_of_lookup(std::move(looked), services_.clock.wall_now());
  const bool can_fence = services_.provider.identity().recovery == Recovery::kFence;
  if (found.kind == EventKind::kInconclusive && can_fence) {
    context.deadline = services_.clock.now() + kLookupDeadline;
    Answer<Found> fenced = co_await services_.provider.fence(context, name);
    found = event_of_lookup(std::move(fenced), services_.clock.wall_now());
  }
  std::string evidence = found.evidence;
  std::vector<Event> events;
  events.push_back(std::move(found));
  const Result<Effects> made = co_await commit(std::move(events));
  if (!made) co_return report(Settled::kUnresolved, made.error().message());
  const Intent& intent = progress_.intent();
  if (intent.state == IntentState::kReleased)
    co_return report(Settled::kReleased, std::move(evidence));
  if (intent.state == IntentState::kCleaning) co_return co_await remove();
  std::string detail = intent.last_error.empty() ? std::move(evidence) : intent.last_error;
  if (!can_fence)
    detail += fmt::format(
        "; provider '{}' cannot prove absence, so an operator must: `{} --established "
        "absent --evidence TEXT`",
        intent.provider_id, resolve_command(intent));
  co_return report(Settled::kUnresolved, std::move(detail));
}

Task<ReconciledIntent> Reconciliation::remove() {
  const Answer<Destroyed> answer =
      co_await remove_sandbox(services_, progress_.intent().name, progress_.ref(), {});
  std::vector<Event> events;
  events.push_back(event_of_destroy(answer, services_.clock.wall_now()));
  const Result<Effects> made = co_await commit(std::move(events));
  if (!made) co_return report(Settled::kUnresolved, made.error().message());
  if (progress_.intent().state == IntentState::kReleased)
    co_return report(Settled::kReleased, "deleted, and its absence confirmed");
  co_return report(Settled::kUnresolved,
                   fmt::format("the deletion is not confirmed: {}", describe(answer.outcome)));
}

Task<Result<Effects>> Reconciliation::commit(std::vector<Event> events) {
  Step step;
  step.events = std::move(events);
  step.settling.settlement = settlement();
  step.settling.draft.evidence = fmt::format("reconciled by host {}", services_.self.host_id);
  if (!options_.evidence.empty())
    step.settling.draft.evidence += fmt::format("; established: {}", options_.evidence);
  if (word_) {
    step.settling.last_error = fmt::format("its host could not record how it ended: {}", *word_);
    step.settling.draft.evidence += "; " + step.settling.last_error;
  }
  const Pricing pricing{services_.price, services_.billing};
  Result<Effects> made = co_await progress_.commit(services_.store, pricing, std::move(step));
  overtaken_ = !made && made.error().kind() == ErrorKind::kConflict;
  co_return made;
}

Settlement Reconciliation::settlement() const {
  if (progress_.intent().cancel_requested) return Settlement::kCancelled;
  // With a word left, its host lived on and told its caller that the call had failed.
  return had_receipt_ || word_ ? Settlement::kInfrastructureFailure : Settlement::kHostDied;
}

Event Reconciliation::established_event() const {
  if (*options_.established == Established::kPresent)
    return event(EventKind::kEstablishedPresent, options_.evidence);
  // What is known to exist is deleted, never talked away. Only where its provider cannot be loaded, an
  // operator who has seen its absence confirms the deletion.
  const IntentState state = progress_.intent().state;
  const bool exists = state == IntentState::kCreated || state == IntentState::kRunning ||
                      state == IntentState::kCleaning;
  if (!exists || !options_.provider_gone || is_blank(options_.evidence))
    return event(EventKind::kEstablishedAbsent, options_.evidence);
  return event(EventKind::kDeleteConfirmed, "established absent: " + options_.evidence);
}

Event Reconciliation::event(EventKind kind, std::string evidence) const {
  Event made;
  made.kind = kind;
  made.at = services_.clock.wall_now();
  made.evidence = std::move(evidence);
  return made;
}

ReconciledIntent Reconciliation::report(Settled result, std::string detail) const {
  const Intent& intent = progress_.intent();
  return {intent.name,  intent.key, intent.provider_id, before_,
          intent.state, result,     std::move(detail)};
}

// The open intents that the options select.
Task<Result<std::vector<Intent>>> select(LifecycleServices& services, ReconcileOptions options) {
  struct Job {
    ReconcileOptions options;
    std::vector<Intent> found;
  };
  auto job = std::make_shared<Job>();
  job->options = std::move(options);
  UnitOfWork work = [job](Transaction& transaction) -> Status {
    job->found.clear();
    const ReconcileOptions& wanted = job->options;
    if (!wanted.name.empty()) {
      BERTH_TRY(std::optional<Intent> intent, transaction.intent(wanted.name));
      // Another owner's intent does not exist for this one.
      const bool visible = intent && (wanted.owner.empty() || intent->key.owner == wanted.owner ||
                                      !guard(Guard::kOwnerMatches));
      if (!visible)
        return fail(ErrorKind::kNotFound, fmt::format("there is no intent '{}'", wanted.name));
      if (intent->state == IntentState::kReleased)
        return fail(ErrorKind::kConflict,
                    fmt::format("intent '{}' is released already", wanted.name));
      job->found.push_back(std::move(*intent));
      return {};
    }
    IntentFilter filter;
    if (guard(Guard::kOwnerMatches)) filter.owner = wanted.owner;
    filter.session = wanted.session;
    filter.unresolved_only = true;
    for (;;) {
      BERTH_TRY(std::vector<Intent> page, transaction.intents(filter));
      const bool last = page.size() < filter.count_max;
      if (!last) filter.after_name = page.back().name;
      for (Intent& intent : page) job->found.push_back(std::move(intent));
      if (last) return {};
    }
  };
  const Status status = co_await services.store.read(std::move(work));
  if (!status) co_return fail(status.error());
  co_return std::move(job->found);
}

// Words about what is settled are of no use any more; also those of a commit that had arrived after all.
Task<void> drop_words(LifecycleServices& services) {
  struct Job {
    std::vector<std::string> names;
    std::vector<std::string> settled;
  };
  auto job = std::make_shared<Job>();
  job->names = services.holders.intents_with_words();
  if (job->names.empty()) co_return;
  UnitOfWork work = [job](Transaction& transaction) -> Status {
    job->settled.clear();
    for (const std::string& name : job->names) {
      BERTH_TRY(const std::optional<Intent> intent, transaction.intent(name));
      if (!intent || intent->state == IntentState::kReleased) job->settled.push_back(name);
    }
    return {};
  };
  const Status status = co_await services.store.read(std::move(work));
  if (!status) co_return;  // the next pass drops them
  for (const std::string& name : job->settled) services.holders.drop_word(name);
}

}  // namespace

std::string_view to_string(ReconciledIntent::Result result) {
  switch (result) {
    case Settled::kReleased:
      return "released";
    case Settled::kUnresolved:
      return "unresolved";
    case Settled::kHeld:
      return "held";
    case Settled::kForeign:
      return "foreign";
    case Settled::kLeft:
      return "left";
  }
  return "";
}

std::size_t ReconcileReport::count(ReconciledIntent::Result result) const {
  return static_cast<std::size_t>(
      std::count_if(intents.begin(), intents.end(),
                    [result](const ReconciledIntent& intent) { return intent.result == result; }));
}

WallTime due_at(const Intent& intent) {
  if (intent.cleanup_attempts == 0) return intent.updated_at;
  const std::uint32_t doublings = std::min<std::uint32_t>(intent.cleanup_attempts - 1, 10);
  const auto pause = std::min<std::chrono::seconds>(kDueMin * (1U << doublings), kDueMax);
  return intent.updated_at + pause;
}

Task<Result<ReconcileReport>> reconcile(LifecycleServices& services, ReconcileOptions options) {
  if (options.established && options.name.empty())
    co_return fail(ErrorKind::kInvalidArgument,
                   "an established outcome is about one intent; name it with --name");
  Result<std::vector<Intent>> selected = co_await select(services, options);
  if (!selected) co_return fail(std::move(selected).error());
  ReconcileReport report;
  for (Intent& intent : *selected) {
    Reconciliation one(services, options, std::move(intent));
    report.intents.push_back(co_await one.proceed());
  }
  co_await drop_words(services);
  if (options.sweep) co_await sweep(services, report);
  co_return report;
}

}  // namespace berth
