#include "core/lifecycle/commits.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/lifecycle/guards.h"
#include "core/lifecycle/removal.h"

namespace berth {
namespace {

constexpr std::size_t kNamedIntentsMax = 3;  // in one sentence

// A commit's inputs and outputs. Lives until both the coroutine and the store have done with it.
// What a run of the unit needs is allocated before it, on the caller's thread: the store's thread
// serves everyone, and memory that one thread takes and another gives back makes both wait.
struct ProgressJob {
  // Inputs.
  Intent known;  // as last known to be committed
  std::vector<Step> steps;
  std::size_t maybe_stored =
      0;  // the first so many steps: their earlier commit's outcome is unknown
  Pricing pricing;
  // Outputs, written afresh by every run of the unit.
  Intent intent;  // at first the same as `known`
  Effects effects;
  // The receipt of a step as this commit wrote it, or one that was recorded already.
  Receipt* recorded = nullptr;
  std::optional<Receipt> earlier;
  bool refused = false;  // by the rules, not by the store

  Status run(Transaction& transaction);
  Status start(Transaction& transaction, std::uint64_t stored_revision);
  Status apply(Transaction& transaction, Step& step);
  Status settle(Transaction& transaction, Step& step, Effects step_effects);

  bool begun = false;
  std::vector<JournalLine> lines;
};

Status ProgressJob::run(Transaction& transaction) {
  effects = {};
  recorded = nullptr;
  earlier.reset();
  refused = false;
  BERTH_TRY(const std::optional<std::uint64_t> stored, transaction.revision_of(known.name));
  const std::uint64_t stored_revision = stored.value_or(0);
  refused = stored_revision < known.revision || stored_revision - known.revision > maybe_stored;
  if (!stored)
    return fail(ErrorKind::kNotFound, fmt::format("intent '{}' is not stored", known.name));
  if (refused)
    return fail(ErrorKind::kConflict,
                fmt::format("intent '{}' was changed by another (revision {}, expected {})",
                            known.name, stored_revision, known.revision));
  BERTH_CHECK_OK(start(transaction, stored_revision));
  for (std::size_t i = stored_revision - known.revision; i < steps.size(); ++i)
    BERTH_CHECK_OK(apply(transaction, steps[i]));
  if (stored_revision != known.revision && recorded == nullptr) {
    // An earlier commit whose outcome was not known had recorded it.
    BERTH_TRY(earlier, transaction.receipt(known.name));
    if (earlier) recorded = &*earlier;
  }
  if (intent.revision == stored_revision) return {};
  return transaction.update_intent(intent, stored_revision);
}

// Every commit raises the revision, so the same one means the same intent.
Status ProgressJob::start(Transaction& transaction, std::uint64_t stored_revision) {
  const bool again = std::exchange(begun, true);
  if (stored_revision == known.revision) {
    if (again) intent = known;
    return {};
  }
  BERTH_TRY(std::optional<Intent> stored, transaction.intent(known.name));
  intent = std::move(stored).value();
  return {};
}

Status ProgressJob::apply(Transaction& transaction, Step& step) {
  Effects step_effects;
  lines.clear();
  for (const Event& event : step.events) {
    const IntentState from = intent.state;
    const Result<Effects> made = advance(intent, event);
    if (!made) {
      refused = true;
      return fail(made.error());
    }
    step_effects.add(*made);
    lines.push_back({from, intent.state, to_string(event.kind), event.evidence, event.at});
  }
  BERTH_CHECK_OK(transaction.append_lines(intent.name, lines));
  if (!step.stage.empty()) intent.last_stage = step.stage;
  intent.revision += 1;
  effects.add(step_effects);
  return settle(transaction, step, step_effects);
}

// What a receipt says of its intent, which nothing changes any more.
void identify(Receipt& receipt, const Intent& intent) {
  receipt.name = intent.name;
  receipt.owner = intent.key.owner;
  receipt.session = intent.key.session;
  receipt.call = intent.key.call;
  receipt.turn = intent.turn;
  receipt.provider_id = intent.provider_id;
  receipt.provider_version = intent.provider_version;
  receipt.provider_digest = intent.provider_digest;
  receipt.scope = intent.scope;
}

Status ProgressJob::settle(Transaction& transaction, Step& step, Effects step_effects) {
  const bool known_cost = step_effects.has(Effect::kSettleReceipt) || step.settle_now;
  if (!known_cost && !step_effects.has(Effect::kSuspend)) return {};
  // Written anew at each run; the evidence in it stays.
  Receipt& made = step.settling.draft;
  if (made.name.empty()) identify(made, intent);
  made.recorded_at = intent.updated_at;
  made.settled_at = intent.updated_at;
  made.settlement = known_cost ? step.settling.settlement : Settlement::kUncertain;
  made.cost.reset();
  if (known_cost) made.cost = cost_of(made.settlement, pricing.price);
  BERTH_TRY(earlier, record_receipt(transaction, pricing.billing, made));
  recorded = earlier ? &*earlier : &made;
  if (known_cost && !step.settling.last_error.empty())
    intent.last_error = step.settling.last_error;
  // What is kept for replays is what the caller was told, so a settled call gains no result later.
  const bool told = recorded->settlement == step.settling.settlement;
  if (known_cost && told && step.settling.result) intent.result = step.settling.result;
  return {};
}

Status check_scope(Transaction& transaction, const Intent& intent) {
  if (!guard(Guard::kScopeUnchanged)) return {};
  BERTH_TRY(const std::optional<Intent> open,
            transaction.unresolved_in_other_scope(intent.provider_id, intent.scope));
  if (!open) return {};
  return fail(
      ErrorKind::kRefused,
      fmt::format("provider '{}' changed its scope while intent '{}' is open: {}; restore it, "
                  "or `berth drain --provider {}` under the old one first",
                  intent.provider_id, open->name, scope_difference(open->scope, intent.scope),
                  intent.provider_id));
}

// True when the application has not selected this provider yet, and may. One that has open intents
// elsewhere would leave them to nobody's credentials.
Result<bool> check_selection(Transaction& transaction, const std::string& application,
                             const std::string& provider_id) {
  if (application.empty()) return false;
  BERTH_TRY(const std::optional<std::string> before, transaction.selection(application));
  if (!before) return true;
  if (*before == provider_id) return false;
  IntentFilter filter;
  filter.provider_id = *before;
  filter.unresolved_only = true;
  filter.count_max = kNamedIntentsMax + 1;
  filter.with_results = false;
  BERTH_TRY(const std::vector<Intent> open, transaction.intents(filter));
  if (open.empty()) return true;
  std::string names;
  for (std::size_t i = 0; i < open.size() && i < kNamedIntentsMax; ++i)
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", open[i].name, to_string(open[i].state));
  if (open.size() > kNamedIntentsMax) names += " and more";
  return fail(ErrorKind::kRefused,
              fmt::format("{} selected provider '{}' before and now '{}', while there is open: {}; "
                          "`berth drain --provider {}` with its credentials first, or select it again",
                          application, *before, provider_id, names, *before));
}

Status check_session(Transaction& transaction, const Intent& intent) {
  if (!guard(Guard::kSessionOpen)) return {};
  BERTH_TRY(const std::optional<SessionRecord> session,
            transaction.session(intent.key.owner, intent.key.session));
  if (!session || session->state == SessionState::kOpen) return {};
  return fail(ErrorKind::kRefused, fmt::format("session '{}' is {} and takes no new call",
                                               intent.key.session, to_string(session->state)));
}

}  // namespace

Result<std::optional<Receipt>> record_receipt(Transaction& transaction, const Billing* billing,
                                              const Receipt& receipt) {
  BERTH_TRY(std::optional<Receipt> earlier, transaction.receipt(receipt.name));
  if (!earlier) {
    BERTH_CHECK_OK(transaction.insert_receipt(receipt));
    if (receipt.cost && billing != nullptr)
      BERTH_CHECK_OK(billing->debit(transaction.ledger(), receipt));
    return std::optional<Receipt>();
  }
  if (earlier->owner != receipt.owner || earlier->session != receipt.session ||
      earlier->call != receipt.call)
    return fail(ErrorKind::kConflict,
                fmt::format("receipt '{}' belongs to another call of owner '{}'", receipt.name,
                            earlier->owner));
  if (earlier->cost && receipt.cost && *earlier->cost != *receipt.cost)
    return fail(ErrorKind::kConflict,
                fmt::format("receipt '{}' is recorded with {}, not {}", receipt.name,
                            earlier->cost->to_string(), receipt.cost->to_string()));
  // A known receipt stands: later news never raises or lowers it.
  if (earlier->cost || !receipt.cost) return earlier;
  Receipt settled = receipt;
  settled.recorded_at = earlier->recorded_at;
  BERTH_CHECK_OK(transaction.settle_receipt(settled));
  if (billing != nullptr) BERTH_CHECK_OK(billing->debit(transaction.ledger(), settled));
  return std::optional<Receipt>(std::move(settled));
}

Task<Result<Effects>> Progress::commit(Store& store, Pricing pricing, Step step) {
  auto job = std::make_shared<ProgressJob>();
  job->intent = known_;
  job->known = std::move(known_);
  job->steps = std::move(pending_);
  job->maybe_stored = job->steps.size();
  const bool has_step = !step.events.empty();
  for (const Event& event : step.events) {
    if (!event.ref.empty()) ref_ = event.ref;
  }
  if (has_step) {
    job->lines.reserve(step.events.size());
    job->intent.ref.reserve(ref_.size());
    if (step.events.back().kind == EventKind::kDeleteConfirmed)
      identify(step.settling.draft, job->intent);
    job->steps.push_back(std::move(step));
  }
  job->pricing = pricing;
  pending_.clear();
  UnitOfWork work = [job](Transaction& transaction) { return job->run(transaction); };
  const Status status = co_await store.commit(std::move(work));
  if (!status) {
    known_ = std::move(job->known);
    // Never dropped for a fault of the store: it is not known what was written.
    pending_ = std::move(job->steps);
    const bool refused = job->refused && status.error().kind() != ErrorKind::kUnknownOutcome;
    if (refused && has_step) pending_.pop_back();
    co_return fail(status.error());
  }
  known_ = std::move(job->intent);
  if (job->recorded != nullptr) receipt_ = std::move(*job->recorded);
  co_return job->effects;
}

namespace {

// Also lives until both have done with it.
struct ReserveJob {
  Intent intent;  // as it is stored
  std::vector<JournalLine> lines;
  std::string application;
  Pricing pricing;
  bool selects = false;
  // Outputs.
  bool inserted = false;
  Reserved reserved;

  Status run(Transaction& transaction);
  Status admit(Transaction& transaction);
};

Status ReserveJob::run(Transaction& transaction) {
  inserted = false;
  reserved = {};
  // Without billing, asking what speaks against it changes nothing. So a new call, as most are, is not
  // looked for before it is written.
  bool written = false;
  Status admitted;
  if (pricing.billing == nullptr) {
    admitted = admit(transaction);
    if (admitted) {
      BERTH_TRY(written, transaction.insert_new_intent(intent));
    }
  }
  if (!written) {
    // Above all that speaks against it: a call that exists is answered with what became of it.
    BERTH_TRY(reserved.earlier, transaction.intent_of_call(intent.key));
    if (reserved.earlier) {
      BERTH_TRY(reserved.receipt, transaction.receipt(reserved.earlier->name));
      return {};
    }
    BERTH_CHECK_OK(admitted);
    if (pricing.billing != nullptr) BERTH_CHECK_OK(admit(transaction));
    BERTH_CHECK_OK(transaction.insert_intent(intent));
  }
  // After the intent: the lines refer to it.
  BERTH_CHECK_OK(transaction.append_lines(intent.name, lines));
  if (selects) BERTH_CHECK_OK(transaction.put_selection(application, intent.provider_id));
  inserted = true;
  return {};
}

Status ReserveJob::admit(Transaction& transaction) {
  BERTH_CHECK_OK(check_session(transaction, intent));
  BERTH_CHECK_OK(check_scope(transaction, intent));
  BERTH_TRY(selects, check_selection(transaction, application, intent.provider_id));
  if (pricing.billing == nullptr) return {};
  return pricing.billing->admit(transaction.ledger(), intent.key.owner, intent.created_at);
}

}  // namespace

Task<Result<Reserved>> reserve(Store& store, Pricing pricing, ReserveRequest request) {
  auto job = std::make_shared<ReserveJob>();
  job->pricing = pricing;
  job->application = std::move(request.application);
  Intent& intent = job->intent;
  intent = std::move(request.intent);
  intent.revision = 1;
  job->lines.push_back({IntentState::kIntended, IntentState::kIntended, "reserve",
                        intent.holder.host_id, intent.created_at});
  if (request.dispatch) {
    Event dispatch;
    dispatch.kind = EventKind::kDispatch;
    dispatch.at = intent.created_at;
    const Result<Effects> dispatched = advance(intent, dispatch);
    if (!dispatched) co_return fail(dispatched.error());
    job->lines.push_back({IntentState::kIntended, intent.state, to_string(dispatch.kind), {},
                          intent.created_at});
  }
  UnitOfWork work = [job](Transaction& transaction) { return job->run(transaction); };
  const Status status = co_await store.commit(std::move(work));
  if (!status && status.error().kind() != ErrorKind::kUnknownOutcome)
    co_return fail(status.error());
  if (!status) job->reserved.unknown = status.error();
  if (job->inserted) job->reserved.intent = std::move(job->intent);
  co_return std::move(job->reserved);
}

Task<Result<Reserved>> read_call(Store& store, CallKey key) {
  struct Job {
    CallKey key;
    Reserved reserved;
  };
  auto job = std::make_shared<Job>();
  job->key = std::move(key);
  UnitOfWork work = [job](Transaction& transaction) -> Status {
    job->reserved = {};
    BERTH_TRY(job->reserved.earlier, transaction.intent_of_call(job->key));
    if (!job->reserved.earlier) return {};
    BERTH_TRY(job->reserved.receipt, transaction.receipt(job->reserved.earlier->name));
    return {};
  };
  const Status status = co_await store.read(std::move(work));
  if (!status) co_return fail(status.error());
  co_return std::move(job->reserved);
}

}  // namespace berth
