#include "core/lifecycle/machine.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/base/ids.h"
#include "core/lifecycle/guards.h"

namespace berth {
namespace {

// Foreign messages are kept, but not whole novels.
constexpr std::size_t kMessageBytesMax = 1024;

// Where an event leads in the state table; nothing: the cell is not defined.
std::optional<IntentState> target(IntentState state, EventKind kind) {
  using S = IntentState;
  const auto from = [state](S only, S to) {
    return state == only ? std::optional(to) : std::nullopt;
  };
  switch (kind) {
    case EventKind::kDispatch:
      return from(S::kIntended, S::kDispatched);
    case EventKind::kRefuse:
      return from(S::kIntended, S::kReleased);
    case EventKind::kCreateDone:
      return from(S::kDispatched, S::kCreated);
    case EventKind::kCreateRejected:
      return from(S::kDispatched, S::kReleased);
    case EventKind::kCreateFailedClean:
      return from(S::kDispatched, S::kReleased);
    case EventKind::kCreateFailedDirty:
      return from(S::kDispatched, S::kCleaning);
    case EventKind::kCreateUncertain:
      return from(S::kDispatched, S::kUncertain);
    case EventKind::kRun:
      return from(S::kCreated, S::kRunning);
    case EventKind::kDeleteConfirmed:
      return from(S::kCleaning, S::kReleased);
    case EventKind::kDeleteFailed:
      return from(S::kCleaning, S::kCleaning);
    case EventKind::kFound:
      return from(S::kUncertain, S::kCleaning);
    case EventKind::kInconclusive:
      return from(S::kUncertain, S::kUncertain);
    case EventKind::kFenced:
      return from(S::kUncertain, S::kReleased);
    case EventKind::kEstablishedAbsent:
      return from(S::kUncertain, S::kReleased);
    case EventKind::kEstablishedPresent:
      return from(S::kUncertain, S::kCleaning);
    case EventKind::kExpire:
      return from(S::kReleased, S::kReleased);
    case EventKind::kFinish:
      if (state == S::kCreated || state == S::kRunning) return S::kCleaning;
      return std::nullopt;
    case EventKind::kCancel:
      if (state == S::kIntended) return S::kReleased;
      if (state == S::kDispatched) return S::kDispatched;
      if (state == S::kCreated || state == S::kRunning) return S::kCleaning;
      return std::nullopt;
    case EventKind::kRecover:
      switch (state) {
        case S::kIntended:
          return S::kReleased;
        case S::kDispatched:
          return S::kUncertain;
        case S::kCreated:
          return S::kCleaning;
        case S::kRunning:
          return S::kCleaning;
        case S::kCleaning:
          return S::kCleaning;
        case S::kUncertain:
          return S::kUncertain;
        case S::kReleased:
          return std::nullopt;
      }
  }
  return std::nullopt;
}

// Where the event would lead if every cell were defined: what a machine without its table would do.
IntentState natural_target(IntentState state, EventKind kind) {
  for (std::size_t i = 0; i < kIntentStateCount; ++i) {
    const auto to = target(static_cast<IntentState>(i), kind);
    if (to) return *to;
  }
  return state;
}

std::optional<Error> refusal(const Intent& intent, const Event& event) {
  if (guard(Guard::kCellDefined) && !target(intent.state, event.kind))
    return Error(ErrorKind::kRefused,
                 fmt::format("intent '{}' is {}: '{}' is not possible now", intent.name,
                             to_string(intent.state), to_string(event.kind)));
  if (event.kind == EventKind::kRecover && guard(Guard::kHolderGone) && !event.holder_gone)
    return Error(
        ErrorKind::kRefused,
        fmt::format("intent '{}' is held by a living host ({}); only that host may act on it",
                    intent.name, intent.holder.host_id));
  const bool established =
      event.kind == EventKind::kEstablishedAbsent || event.kind == EventKind::kEstablishedPresent;
  if (established && guard(Guard::kEvidenceGiven) && is_blank(event.evidence))
    return Error(
        ErrorKind::kInvalidArgument,
        fmt::format("intent '{}' cannot be settled without evidence; say with --evidence who "
                    "established it and what was seen",
                    intent.name));
  return std::nullopt;
}

// Empty when the answer is about this very allocation, else what differs.
std::string mismatch(const Intent& intent, const Event& event) {
  if (guard(Guard::kNameMatches) && event.name != intent.name)
    return fmt::format("the answer is about '{}', not about this intent", event.name);
  if (!guard(Guard::kScopeMatches) || event.scope == intent.scope) return {};
  for (const auto& [field, value] : intent.scope) {
    bool same = false;
    for (const auto& [found_field, found_value] : event.scope)
      same = same || (found_field == field && found_value == value);
    if (!same) return fmt::format("it lives in another scope: '{}' is not '{}'", field, value);
  }
  return "it lives in another scope than the intent's";
}

void enter_released(Intent& intent, Effects& effects) {
  intent.holder = {};
  effects.add(Effect::kSettleReceipt);
}

void enter_uncertain(Intent& intent, Effects& effects) {
  intent.holder = {};  // nobody works on it: any host may reconcile it
  effects.add(Effect::kSuspend);
}

void apply_create_done(Intent& intent, const Event& event, Effects& effects) {
  if (std::string reason = mismatch(intent, event); !reason.empty()) {
    intent.state = IntentState::kUncertain;
    intent.last_error = std::move(reason);
    enter_uncertain(intent, effects);
    return;
  }
  intent.ref = event.ref;
  if (guard(Guard::kCancelledNeverRuns) && intent.cancel_requested) {
    intent.state = IntentState::kCleaning;
    effects.add(Effect::kDelete);
    return;
  }
  effects.add(Effect::kMayRun);
}

void apply_found(Intent& intent, const Event& event, Effects& effects) {
  if (std::string reason = mismatch(intent, event); !reason.empty()) {
    intent.state = IntentState::kUncertain;
    intent.last_error = std::move(reason);
    intent.holder = {};
    return;
  }
  if (!event.ref.empty()) intent.ref = event.ref;
  effects.add(Effect::kDelete);
}

void apply_recover(Intent& intent, const Event& event, IntentState before, Effects& effects) {
  if (before == IntentState::kIntended) return enter_released(intent, effects);
  intent.holder = event.holder;
  if (before == IntentState::kDispatched) {
    intent.last_error = "its host ended while the create was in flight";
    effects.add(Effect::kSuspend);
  }
  if (intent.state == IntentState::kCleaning) effects.add(Effect::kDelete);
}

std::string bounded(std::string text) {
  if (text.size() > kMessageBytesMax) text.resize(kMessageBytesMax);
  return text;
}

}  // namespace

bool is_about(const Intent& intent, const Event& event) { return mismatch(intent, event).empty(); }

bool is_defined(IntentState state, EventKind kind) { return target(state, kind).has_value(); }

Result<Effects> advance(Intent& intent, const Event& event) {
  if (std::optional<Error> error = refusal(intent, event)) return fail(std::move(*error));
  const IntentState before = intent.state;
  intent.state = target(before, event.kind).value_or(natural_target(before, event.kind));
  intent.updated_at = event.at;
  Effects effects;
  switch (event.kind) {
    case EventKind::kDispatch:
      intent.dispatched = true;
      effects.add(Effect::kAskCreate);
      break;
    case EventKind::kCancel:
      intent.cancel_requested = true;
      if (before == IntentState::kIntended) enter_released(intent, effects);
      if (intent.state == IntentState::kCleaning) effects.add(Effect::kDelete);
      break;
    case EventKind::kCreateDone:
      apply_create_done(intent, event, effects);
      break;
    case EventKind::kRefuse:
    case EventKind::kCreateRejected:
    case EventKind::kCreateFailedClean:
      intent.last_error = event.evidence;
      enter_released(intent, effects);
      break;
    case EventKind::kCreateFailedDirty:
      intent.last_error = event.evidence;
      if (!event.ref.empty()) intent.ref = event.ref;
      effects.add(Effect::kDelete);
      break;
    case EventKind::kCreateUncertain:
      intent.last_error = event.evidence;
      enter_uncertain(intent, effects);
      break;
    case EventKind::kRun:
      break;
    case EventKind::kFinish:
      effects.add(Effect::kDelete);
      break;
    case EventKind::kDeleteFailed:
      intent.last_error = event.evidence;
      intent.cleanup_attempts += 1;
      intent.holder = {};
      break;
    case EventKind::kRecover:
      apply_recover(intent, event, before, effects);
      break;
    case EventKind::kFound:
      apply_found(intent, event, effects);
      break;
    case EventKind::kInconclusive:
      intent.last_error = event.evidence;
      intent.cleanup_attempts += 1;
      intent.holder = {};
      break;
    case EventKind::kDeleteConfirmed:
    case EventKind::kFenced:
    case EventKind::kEstablishedAbsent:
      enter_released(intent, effects);
      break;
    case EventKind::kEstablishedPresent:
      effects.add(Effect::kDelete);
      break;
    case EventKind::kExpire:
      intent.result_expired = intent.result_expired || intent.result.has_value();
      intent.result.reset();
      break;
  }
  return effects;
}

Result<Transition> transition(Intent intent, const Event& event) {
  BERTH_TRY(const Effects effects, advance(intent, event));
  return Transition{std::move(intent), effects};
}

Event event_of_create(Answer<Created> answer, WallTime at) {
  Event event;
  event.at = at;
  event.evidence = describe(answer.outcome);
  switch (answer.outcome.outcome_class) {
    case OutcomeClass::kDone:
      event.kind = EventKind::kCreateDone;
      event.name = std::move(answer.value.name);
      event.ref = std::move(answer.value.ref);
      event.scope = std::move(answer.value.scope);
      return event;
    case OutcomeClass::kRejected:
      event.kind = EventKind::kCreateRejected;
      return event;
    case OutcomeClass::kFailedClean:
      event.kind = EventKind::kCreateFailedClean;
      return event;
    case OutcomeClass::kFailedDirty:
      event.kind = EventKind::kCreateFailedDirty;
      event.ref = std::move(answer.value.ref);
      return event;
    case OutcomeClass::kUnset:
    case OutcomeClass::kUncertain:
      break;
  }
  // Also a class that this host does not know.
  event.kind = guard(Guard::kUnknownIsUncertain) ? EventKind::kCreateUncertain
                                                 : EventKind::kCreateFailedClean;
  return event;
}

Event event_of_destroy(const Answer<Destroyed>& answer, WallTime at) {
  Event event;
  event.at = at;
  event.evidence = describe(answer.outcome);
  const bool confirmed = answer.outcome.done() || !guard(Guard::kDeletionConfirmed);
  event.kind = confirmed ? EventKind::kDeleteConfirmed : EventKind::kDeleteFailed;
  return event;
}

Event event_of_lookup(Answer<Found> answer, WallTime at) {
  Event event;
  event.at = at;
  event.kind = EventKind::kInconclusive;
  if (!answer.outcome.done()) {
    event.evidence = describe(answer.outcome);
    return event;
  }
  switch (answer.value.presence) {
    case Presence::kUnknown:
      event.evidence = "the provider does not know";
      break;
    case Presence::kInProgress:
      event.evidence = "the create is still in progress";
      break;
    case Presence::kPresent:
      event.kind = EventKind::kFound;
      event.evidence = "present";
      event.name = std::move(answer.value.name);
      event.ref = std::move(answer.value.ref);
      event.scope = std::move(answer.value.scope);
      break;
    case Presence::kAbsentNow:
      event.evidence = "absent now, which does not prove that a late create cannot succeed";
      if (!guard(Guard::kAbsenceProven)) event.kind = EventKind::kFenced;
      break;
    case Presence::kAbsentFenced:
      event.kind = EventKind::kFenced;
      event.evidence = "absent, and fenced against late creates";
      break;
  }
  return event;
}

Money cost_of(Settlement settlement, Money price) {
  if (settlement == Settlement::kCompleted) return price;
  return guard(Guard::kPaidWhenComplete) ? Money{} : price;
}

std::string describe(const Outcome& outcome) {
  if (outcome.done()) return "done";
  std::string text =
      fmt::format("{}, {}", to_string(outcome.outcome_class), to_string(outcome.code));
  if (!outcome.message.empty()) text += fmt::format(": {}", outcome.message);
  return bounded(std::move(text));
}

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::kDispatch:
      return "dispatch";
    case EventKind::kCancel:
      return "cancel";
    case EventKind::kRefuse:
      return "refuse";
    case EventKind::kCreateDone:
      return "create_done";
    case EventKind::kCreateRejected:
      return "create_rejected";
    case EventKind::kCreateFailedClean:
      return "create_failed_clean";
    case EventKind::kCreateFailedDirty:
      return "create_failed_dirty";
    case EventKind::kCreateUncertain:
      return "create_uncertain";
    case EventKind::kRun:
      return "run";
    case EventKind::kFinish:
      return "finish";
    case EventKind::kDeleteConfirmed:
      return "delete_confirmed";
    case EventKind::kDeleteFailed:
      return "delete_failed";
    case EventKind::kRecover:
      return "recover";
    case EventKind::kFound:
      return "found";
    case EventKind::kInconclusive:
      return "inconclusive";
    case EventKind::kFenced:
      return "fenced";
    case EventKind::kEstablishedAbsent:
      return "established_absent";
    case EventKind::kEstablishedPresent:
      return "established_present";
    case EventKind::kExpire:
      return "expire";
  }
  return "";
}

}  // namespace berth
