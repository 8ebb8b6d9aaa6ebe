#include "core/lifecycle/commits.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/lifecycle/guards.h"
#include "core/lifecycle/removal.h"

namespace berth {
namespace {

// A commit's inputs and outputs. Lives until both the coroutine and the store have done with it.
struct ProgressJob {
  // Inputs.
  std::string name;
  std::uint64_t known_revision = 0;
  std::vector<Step> steps;
  std::size_t maybe_stored =
      0;  // the first so many steps: their earlier commit's outcome is unknown
  Pricing pricing;
  // Outputs, written afresh by every run of the unit.
  Intent intent;
  Effects effects;
  std::optional<Receipt> receipt;
  bool refused = false;  // by the rules, not by the store

  Status run(Transaction& transaction);
  Status apply(Transaction& transaction, const Step& step);
  Status settle(Transaction& transaction, const Step& step, Effects step_effects);
  Status read_receipt(Transaction& transaction);
};

Status ProgressJob::run(Transaction& transaction) {
  effects = {};
  receipt.reset();
  refused = false;
  BERTH_TRY(std::optional<Intent> stored, transaction.intent(name));
  const std::uint64_t stored_revision = stored ? stored->revision : 0;
  refused = stored_revision < known_revision || stored_revision - known_revision > maybe_stored;
  if (!stored) return fail(ErrorKind::kNotFound, fmt::format("intent '{}' is not stored", name));
  if (refused)
    return fail(ErrorKind::kConflict,
                fmt::format("intent '{}' was changed by another (revision {}, expected {})", name,
                            stored_revision, known_revision));
  intent = std::move(*stored);
  for (std::size_t i = stored_revision - known_revision; i < steps.size(); ++i)
    BERTH_CHECK_OK(apply(transaction, steps[i]));
  if (stored_revision != known_revision && !receipt) BERTH_CHECK_OK(read_receipt(transaction));
  if (intent.revision == stored_revision) return {};
  return transaction.update_intent(intent, stored_revision);
}

// An earlier commit whose outcome was not known had recorded it.
Status ProgressJob::read_receipt(Transaction& transaction) {
  BERTH_TRY(receipt, transaction.receipt(name));
  return {};
}

Status ProgressJob::apply(Transaction& transaction, const Step& step) {
  Effects step_effects;
  for (const Event& event : step.events) {
    const IntentState from = intent.state;
    Result<Transition> made = transition(std::move(intent), event);
    if (!made) {
      refused = true;
      return fail(std::move(made).error());
    }
    intent = std::move(made->intent);
    step_effects.add(made->effects);
    BERTH_CHECK_OK(transaction.append_journal(
        {name, from, intent.state, std::string(to_string(event.kind)), event.evidence, event.at}));
  }
  if (!step.stage.empty()) intent.last_stage = step.stage;
  intent.revision += 1;
  effects.add(step_effects);
  return settle(transaction, step, step_effects);
}

Status ProgressJob::settle(Transaction& transaction, const Step& step, Effects step_effects) {
  const bool known = step_effects.has(Effect::kSettleReceipt) || step.settle_now;
  if (!known && !step_effects.has(Effect::kSuspend)) return {};
  Receipt made = step.settling.draft;
  made.name = intent.name;
  made.owner = intent.key.owner;
  made.session = intent.key.session;
  made.call = intent.key.call;
  made.turn = intent.turn;
  made.provider_id = intent.provider_id;
  made.provider_version = intent.provider_version;
  made.provider_digest = intent.provider_digest;
  made.scope = intent.scope;
  made.recorded_at = intent.updated_at;
  made.settled_at = intent.updated_at;
  made.settlement = known ? step.settling.settlement : Settlement::kUncertain;
  if (known) {
    made.cost = cost_of(made.settlement, pricing.price);
  } else {
    made.cost.reset();
  }
  BERTH_TRY(receipt, record_receipt(transaction, pricing.billing, std::move(made)));
  if (known && !step.settling.last_error.empty()) intent.last_error = step.settling.last_error;
  // What is kept for replays is what the caller was told, so a settled call gains no result later.
  const bool told = receipt->settlement == step.settling.settlement;
  if (known && told && step.settling.result) intent.result = step.settling.result;
  return {};
}

Status insert_reserved(Transaction& transaction, const ReserveRequest& request, Intent& intent) {
  intent = request.intent;
  Event dispatch;
  dispatch.kind = EventKind::kDispatch;
  dispatch.at = intent.created_at;
  if (request.dispatch) {
    BERTH_TRY(Transition made, transition(std::move(intent), dispatch));
    intent = std::move(made.intent);
  }
  intent.revision = 1;
  // Before its journal: the lines refer to the intent.
  BERTH_CHECK_OK(transaction.insert_intent(intent));
  BERTH_CHECK_OK(
      transaction.append_journal({intent.name, IntentState::kIntended, IntentState::kIntended,
                                  "reserve", intent.holder.host_id, intent.created_at}));
  if (!request.dispatch) return {};
  return transaction.append_journal({intent.name,
                                     IntentState::kIntended,
                                     intent.state,
                                     std::string(to_string(dispatch.kind)),
                                     {},
                                     dispatch.at});
}

Status check_scope(Transaction& transaction, const Intent& intent) {
  if (!guard(Guard::kScopeUnchanged)) return {};
  BERTH_TRY(const std::optional<Intent> open,
            transaction.unresolved_in_other_scope(intent.provider_id, intent.scope));
  if (!open) return {};
  return fail(
      ErrorKind::kRefused,
      fmt::format("provider '{}' changed its scope while intent '{}' is open: {}; restore it, "
                  "or drain with `berth reconcile` under the old configuration first",
                  intent.provider_id, open->name, scope_difference(open->scope, intent.scope)));
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

Result<Receipt> record_receipt(Transaction& transaction, const Billing* billing, Receipt receipt) {
  BERTH_TRY(std::optional<Receipt> earlier, transaction.receipt(receipt.name));
  if (!earlier) {
    BERTH_CHECK_OK(transaction.insert_receipt(receipt));
    if (receipt.cost && billing != nullptr)
      BERTH_CHECK_OK(billing->debit(transaction.ledger(), receipt));
    return receipt;
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
  if (earlier->cost || !receipt.cost) return std::move(*earlier);
  receipt.recorded_at = earlier->recorded_at;
  BERTH_CHECK_OK(transaction.settle_receipt(receipt));
  if (billing != nullptr) BERTH_CHECK_OK(billing->debit(transaction.ledger(), receipt));
  return receipt;
}

Task<Result<Effects>> Progress::commit(Store& store, Pricing pricing, Step step) {
  auto job = std::make_shared<ProgressJob>();
  job->name = known_.name;
  job->known_revision = known_.revision;
  job->steps = std::move(pending_);
  job->maybe_stored = job->steps.size();
  const bool has_step = !step.events.empty();
  for (const Event& event : step.events) {
    if (!event.ref.empty()) ref_ = event.ref;
  }
  if (has_step) job->steps.push_back(std::move(step));
  job->pricing = pricing;
  pending_.clear();
  UnitOfWork work = [job](Transaction& transaction) { return job->run(transaction); };
  const Status status = co_await store.commit(std::move(work));
  if (!status) {
    // Never dropped for a fault of the store: it is not known what was written.
    pending_ = std::move(job->steps);
    const bool refused = job->refused && status.error().kind() != ErrorKind::kUnknownOutcome;
    if (refused && has_step) pending_.pop_back();
    co_return fail(status.error());
  }
  known_ = std::move(job->intent);
  if (job->receipt) receipt_ = std::move(job->receipt);
  co_return job->effects;
}

Task<Result<Reserved>> reserve(Store& store, Pricing pricing, ReserveRequest request) {
  struct Job {
    ReserveRequest request;
    Pricing pricing;
    Reserved reserved;
  };
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->pricing = pricing;
  UnitOfWork work = [job](Transaction& transaction) -> Status {
    job->reserved = {};
    const Intent& intent = job->request.intent;
    BERTH_TRY(job->reserved.earlier, transaction.intent_of_call(intent.key));
    if (job->reserved.earlier) {
      BERTH_TRY(job->reserved.receipt, transaction.receipt(job->reserved.earlier->name));
      return {};
    }
    BERTH_CHECK_OK(check_session(transaction, intent));
    BERTH_CHECK_OK(check_scope(transaction, intent));
    if (const Billing* billing = job->pricing.billing; billing != nullptr)
      BERTH_CHECK_OK(billing->admit(transaction.ledger(), intent.key.owner, intent.created_at));
    Intent reserved;
    BERTH_CHECK_OK(insert_reserved(transaction, job->request, reserved));
    job->reserved.intent = std::move(reserved);
    return {};
  };
  const Status status = co_await store.commit(std::move(work));
  if (!status && status.error().kind() != ErrorKind::kUnknownOutcome)
    co_return fail(status.error());
  if (!status) job->reserved.unknown = status.error();
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
