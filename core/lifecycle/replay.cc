#include "core/lifecycle/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/lifecycle/guards.h"

namespace berth {
namespace {

std::string_view operation_of(IntentState state) {
  switch (state) {
    case IntentState::kIntended:
    case IntentState::kDispatched:
    case IntentState::kUncertain:
      return "create";
    case IntentState::kCreated:
    case IntentState::kRunning:
      return "run";
    case IntentState::kCleaning:
      return "destroy";
    case IntentState::kReleased:
      return "nothing";
  }
  return "nothing";
}

CallEnd refused(const Intent& intent, ErrorKind kind, std::string message) {
  CallEnd end;
  end.status = CallEnd::Status::kRefused;
  end.error = Error(kind, message);
  end.message = std::move(message);
  end.intent_name = intent.name;
  return end;
}

CallEnd::Status status_of(Settlement settlement) {
  switch (settlement) {
    case Settlement::kCompleted:
      return CallEnd::Status::kCompleted;
    case Settlement::kInfrastructureFailure:
      return CallEnd::Status::kInfrastructureError;
    case Settlement::kCancelled:
      return CallEnd::Status::kCancelled;
    case Settlement::kRefused:
      return CallEnd::Status::kRefused;
    case Settlement::kHostDied:
      return CallEnd::Status::kInfrastructureError;
    case Settlement::kUncertain:
      return CallEnd::Status::kUncertain;
  }
  return CallEnd::Status::kUncertain;
}

std::string recorded_message(const Intent& intent, const Receipt& receipt) {
  if (intent.result_expired)
    return fmt::format("the output of call '{}' has expired", intent.key.call);
  if (receipt.settlement == Settlement::kCompleted) return {};
  if (!intent.last_error.empty()) return intent.last_error;
  return fmt::format("this call ended earlier: {}", to_string(receipt.settlement));
}

}  // namespace

std::string resolve_command(const Intent& intent) {
  return fmt::format("berth reconcile --name {}", intent.name);
}

std::string describe_unresolved(const Intent& intent, WallTime now) {
  const auto age = std::max(now - intent.created_at, WallTime::duration(0));
  return fmt::format(
      "{} on provider '{}'{}, {} for {}{}", operation_of(intent.state), intent.provider_id,
      intent.last_stage.empty() ? "" : fmt::format(" at stage '{}'", intent.last_stage),
      to_string(intent.state), to_human(age),
      intent.last_error.empty() ? "" : fmt::format(" ({})", intent.last_error));
}

CallEnd answer_again(Intent earlier, std::optional<Receipt> receipt, std::string_view spec_digest,
                     WallTime now, std::string_view held_by) {
  if (guard(Guard::kSameSpec) && earlier.spec_digest != spec_digest)
    return refused(
        earlier, ErrorKind::kConflict,
        fmt::format("call '{}' of session '{}' exists with another request; use a new call "
                    "id for a new request",
                    earlier.key.call, earlier.key.session));
  const bool open = guard(Guard::kCallResolved) && earlier.state != IntentState::kReleased;
  if (open && !held_by.empty())
    return refused(earlier, ErrorKind::kRefused,
                   fmt::format("call '{}' of session '{}' is under way: {} has worked on it since {} "
                               "({}); wait for that to end and ask again for the same answer, or end it",
                               earlier.key.call, earlier.key.session, held_by,
                               to_rfc3339(earlier.created_at), describe_unresolved(earlier, now)));
  if (open)
    return refused(earlier, ErrorKind::kRefused,
                   fmt::format("call '{}' of session '{}' is unresolved: {}; resolve it with `{}`",
                               earlier.key.call, earlier.key.session,
                               describe_unresolved(earlier, now), resolve_command(earlier)));
  CallEnd end;
  end.replayed = true;
  end.intent_name = earlier.name;
  if (receipt) {
    end.status = status_of(receipt->settlement);
    end.message = recorded_message(earlier, *receipt);
  }
  if (end.status != CallEnd::Status::kCompleted)
    end.error = Error(
        end.status == CallEnd::Status::kCancelled ? ErrorKind::kCancelled : ErrorKind::kRefused,
        end.message);
  end.receipt = std::move(receipt);
  end.document = std::move(earlier.result);
  return end;
}

}  // namespace berth
