// The way out: the one delete, the release, and what is kept when it does not come that far.
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "core/lifecycle/call.h"
#include "core/lifecycle/guards.h"
#include "core/lifecycle/removal.h"
#include "core/lifecycle/replay.h"

namespace berth {
namespace {

constexpr Duration kCommitPause = std::chrono::milliseconds(50);
constexpr int kCommitTries = 3;

}  // namespace

void Call::start_delete() {
  if (delete_started_ && guard(Guard::kOneDelete)) return;
  delete_started_ = true;
  boost::asio::co_spawn(
      executor_,
      [](std::shared_ptr<Call> self) -> Task<void> {
        co_await self->delete_until_confirmed();
      }(shared_from_this()),
      boost::asio::detached);
}

Task<void> Call::ensure_deleted() {
  if (!delete_started_ || !guard(Guard::kOneDelete)) {
    delete_started_ = true;
    co_await delete_until_confirmed();
    co_return;
  }
  while (!delete_ended_) co_await delete_ended_signal_.wait();
}

Task<void> Call::delete_until_confirmed() {
  note_stage("cleanup");
  const Instant began = services_.clock.now();
  deleted_ =
      co_await remove_sandbox(services_, name_, progress_->ref(), context(began, nullptr).on_stage);
  add_timing("cleanup", services_.clock.now() - began);
  delete_ended_ = true;
  // A command that never answers is not waited for once its sandbox is gone or given up.
  body_stop_.abandon();
  delete_ended_signal_.notify();
}

Task<CallEnd> Call::clean_and_release(std::vector<Event> events) {
  co_await ensure_deleted();
  Event deleted = event_of_destroy(deleted_, services_.clock.wall_now());
  if (deleted.kind == EventKind::kDeleteFailed) {
    events.push_back(std::move(deleted));
    co_return co_await retain_cleaning(std::move(events));
  }
  const bool completed = body_result_.kind == BodyResult::Kind::kCompleted && !stop_.requested();
  const Settlement settlement =
      completed ? Settlement::kCompleted : failed_as(Settlement::kInfrastructureFailure);
  std::string message = completed ? std::string() : failure_message();
  events.push_back(std::move(deleted));
  Step step;
  step.events = std::move(events);
  step.settling = settling(settlement);
  step.settling.last_error = message;
  if (settlement != Settlement::kCancelled && !body_result_.document.empty())
    step.settling.result = std::move(body_result_.document);
  step.stage = "released";
  const Result<Effects> released = co_await commit_persistently(std::move(step));
  if (!released)
    co_return retained(released.error(),
                       "the sandbox is gone, but its release could not be recorded");
  co_return settled(settlement, std::move(message));
}

// Nothing was asked of the provider, and nothing will be.
Task<CallEnd> Call::release_unsent(Settlement settlement, std::string message) {
  // After a commit of unknown outcome the intent may be dispatched or not; both are tried.
  const bool dispatched = progress_->intent().state == IntentState::kDispatched;
  Step step;
  if (stop_.requested()) {
    step.events.push_back(event(EventKind::kCancel, message));
    if (dispatched) step.events.push_back(event(EventKind::kCreateRejected, message));
  } else {
    step.events.push_back(
        event(dispatched ? EventKind::kCreateRejected : EventKind::kRefuse, message));
  }
  if (progress_->has_pending()) {
    // The dispatch rides along, and the unsent create answers it.
    step.events.clear();
    step.events.push_back(event(EventKind::kCreateRejected, message));
  }
  step.settling = settling(settlement);
  step.settling.last_error = message;
  const Result<Effects> released = co_await commit_persistently(std::move(step));
  if (!released) co_return retained(released.error(), message);
  co_return settled(settlement, std::move(message));
}

Task<CallEnd> Call::retain_uncertain(Step step) {
  const Result<Effects> kept = co_await commit_persistently(std::move(step));
  if (!kept) co_return retained(kept.error(), "the create's outcome is not known");
  co_return uncertain();
}

CallEnd Call::uncertain() {
  const Intent& intent = progress_->intent();
  CallEnd end = ended(CallEnd::Status::kUncertain, ErrorKind::kUnknownOutcome,
                      fmt::format("a sandbox may exist: {}; resolve it with `{}`",
                                  describe_unresolved(intent, services_.clock.wall_now()),
                                  resolve_command(intent)));
  end.receipt = progress_->receipt();
  return end;
}

Task<CallEnd> Call::retain_cleaning(std::vector<Event> events) {
  Step step;
  step.events = std::move(events);
  step.settling = settling(failed_as(Settlement::kInfrastructureFailure));
  step.settle_now = true;
  const Result<Effects> kept = co_await commit_persistently(std::move(step));
  const std::string message = fmt::format(
      "the cleanup of sandbox '{}' is not confirmed after {} ({}); the intent is retained and is "
      "cleaned by `berth reconcile --name {}`",
      name_, to_human(services_.limits.cleanup_budget), describe(deleted_.outcome), name_);
  if (!kept) co_return retained(kept.error(), message);
  // The time of the cleanup is not that of the call, and it is not over with it.
  CallEnd end = ended(CallEnd::Status::kInfrastructureError, ErrorKind::kUnavailable, message);
  end.receipt = progress_->receipt();
  co_return end;
}

Task<Result<Effects>> Call::commit(Step step) {
  if (step.stage.empty()) step.stage = stage_;
  return progress_->commit(services_.store, pricing_, std::move(step));
}

Task<Result<Effects>> Call::commit_persistently(Step step) {
  Result<Effects> made = co_await commit(std::move(step));
  Duration pause = kCommitPause;
  for (int tries = 1; !made && progress_->has_pending() && tries < kCommitTries; ++tries) {
    co_await services_.clock.sleep_until(services_.clock.now() + pause, nullptr);
    pause *= 4;
    Step again;
    made = co_await progress_->commit(services_.store, pricing_, std::move(again));
  }
  co_return made;
}

Settling Call::settling(Settlement settlement) {
  Settling made;
  made.settlement = settlement;
  Receipt& draft = made.draft;
  draft.evidence = fmt::format("host {}", services_.self.host_id);
  draft.timings_us = timings_us_;
  if (const std::optional<RunEnd>& end = body_result_.run_end; end) {
    draft.exit_code = end->exit_code;
    draft.cause = to_string(end->cause);
    draft.stdout_bytes = end->stdout_bytes;
    draft.stderr_bytes = end->stderr_bytes;
  }
  // The sandbox's last counters include those of its commands.
  const UsageCounters none;
  const UsageCounters& run = body_result_.run_end ? body_result_.run_end->usage : none;
  const UsageCounters& whole = deleted_.value.usage;
  draft.provider_cpu_ns = whole.cpu_ns ? whole.cpu_ns : run.cpu_ns;
  draft.provider_wall_ns = whole.wall_ns ? whole.wall_ns : run.wall_ns;
  draft.provider_memory_peak_bytes =
      whole.memory_peak_bytes ? whole.memory_peak_bytes : run.memory_peak_bytes;
  const auto& cost = whole.cost_micro_usd ? whole.cost_micro_usd : run.cost_micro_usd;
  if (cost) draft.provider_cost = Money::micros(static_cast<std::int64_t>(*cost));
  return made;
}

Settlement Call::failed_as(Settlement otherwise) const {
  if (!stop_.requested()) return otherwise;
  return stop_.reason() == Cancellation::Reason::kDeadline ? Settlement::kInfrastructureFailure
                                                           : Settlement::kCancelled;
}

std::string Call::why_stopped() const {
  switch (stop_.reason()) {
    case Cancellation::Reason::kDeadline:
      return fmt::format("the deadline of {} passed", to_human(deadline_ - started_));
    case Cancellation::Reason::kShutdown:
      return "cancelled: the host is shutting down";
    case Cancellation::Reason::kNone:
    case Cancellation::Reason::kCaller:
      break;
  }
  return "cancelled by the caller";
}

std::string Call::failure_message() const {
  if (stop_.requested()) return why_stopped();
  return body_result_.message.empty() ? "the execution did not complete" : body_result_.message;
}

CallEnd Call::ended(CallEnd::Status status, ErrorKind kind, std::string message) const {
  CallEnd end;
  end.status = status;
  end.error = Error(kind, message);
  end.message = std::move(message);
  if (progress_) end.intent_name = name_;
  return end;
}

CallEnd Call::retained(const Error& error, std::string_view what) const {
  services_.holders.leave_word(name_, error.message());
  return ended(
      CallEnd::Status::kInfrastructureError, error.kind(),
      fmt::format("{} ({}); intent '{}' is retained, resolve it with `berth reconcile --name "
                  "{}`",
                  what, error.message(), name_, name_));
}

CallEnd Call::settled(Settlement settlement, std::string message) {
  CallEnd end;
  end.intent_name = name_;
  end.receipt = progress_->take_receipt();
  end.document = progress_->take_result();
  end.message = message;
  switch (settlement) {
    case Settlement::kCompleted:
      end.status = CallEnd::Status::kCompleted;
      return end;
    case Settlement::kCancelled:
      end.status = CallEnd::Status::kCancelled;
      end.error = Error(ErrorKind::kCancelled, std::move(message));
      return end;
    case Settlement::kRefused:
      end.status = CallEnd::Status::kRefused;
      end.error = Error(ErrorKind::kRefused, std::move(message));
      return end;
    case Settlement::kInfrastructureFailure:
    case Settlement::kHostDied:
    case Settlement::kUncertain:
      break;
  }
  const bool late = stop_.reason() == Cancellation::Reason::kDeadline;
  end.status = CallEnd::Status::kInfrastructureError;
  end.error = Error(late ? ErrorKind::kTimeout : ErrorKind::kUnavailable, std::move(message));
  return end;
}

}  // namespace berth
