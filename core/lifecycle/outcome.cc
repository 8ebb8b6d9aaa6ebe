#include "core/lifecycle/outcome.h"

namespace berth {

std::string_view to_string(OutcomeClass outcome_class) {
  switch (outcome_class) {
    case OutcomeClass::kUnset:
      return "unset";
    case OutcomeClass::kDone:
      return "done";
    case OutcomeClass::kRejected:
      return "rejected";
    case OutcomeClass::kFailedClean:
      return "failed_clean";
    case OutcomeClass::kFailedDirty:
      return "failed_dirty";
    case OutcomeClass::kUncertain:
      return "uncertain";
  }
  return "unknown_class";
}

std::string_view to_string(OutcomeCode code) {
  switch (code) {
    case OutcomeCode::kNone:
      return "none";
    case OutcomeCode::kInvalidArgument:
      return "invalid_argument";
    case OutcomeCode::kUnsupported:
      return "unsupported";
    case OutcomeCode::kNotFound:
      return "not_found";
    case OutcomeCode::kConflict:
      return "conflict";
    case OutcomeCode::kQuota:
      return "quota";
    case OutcomeCode::kRateLimited:
      return "rate_limited";
    case OutcomeCode::kUnauthenticated:
      return "unauthenticated";
    case OutcomeCode::kPermission:
      return "permission";
    case OutcomeCode::kUnavailable:
      return "unavailable";
    case OutcomeCode::kTimeout:
      return "timeout";
    case OutcomeCode::kCancelled:
      return "cancelled";
    case OutcomeCode::kInternal:
      return "internal";
    case OutcomeCode::kHostUnsent:
      return "host.unsent";
    case OutcomeCode::kHostWorkerDied:
      return "host.worker_died";
    case OutcomeCode::kHostDeadline:
      return "host.deadline";
    case OutcomeCode::kHostBadReply:
      return "host.bad_reply";
    case OutcomeCode::kHostUnknownClass:
      return "host.unknown_class";
    case OutcomeCode::kHostException:
      return "host.exception";
    case OutcomeCode::kHostDetached:
      return "host.detached";
    case OutcomeCode::kHostScopeMismatch:
      return "host.scope_mismatch";
    case OutcomeCode::kHostCrash:
      return "host.crash";
  }
  return "unknown_code";
}

}  // namespace berth
