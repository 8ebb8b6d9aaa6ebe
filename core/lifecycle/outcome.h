// What became of one provider operation, as the host records it.
//
// The class says what may exist now; the code says why. A code never implies a class. The numeric
// values of OutcomeClass and of the provider's codes are those of sdk/include/berth/abi.h.
#ifndef BERTH_CORE_LIFECYCLE_OUTCOME_H_
#define BERTH_CORE_LIFECYCLE_OUTCOME_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

enum class OutcomeClass : std::uint32_t {
  kUnset = 0,  // the provider asserted nothing; always treated as kUncertain
  kDone = 1,
  kRejected = 2,     // refused before any effect
  kFailedClean = 3,  // tried, undid it, verified the undo
  kFailedDirty = 4,  // tried; something is left under this name
  kUncertain = 5,
};

// Codes below 1000 are the provider's; from 1000 on the host made them. The two never mix, so that
// a fault of transport can never be read as a provider's answer.
enum class OutcomeCode : std::uint32_t {
  kNone = 0,
  kInvalidArgument = 1,
  kUnsupported = 2,
  kNotFound = 3,
  kConflict = 4,
  kQuota = 5,
  kRateLimited = 6,
  kUnauthenticated = 7,
  kPermission = 8,
  kUnavailable = 9,
  kTimeout = 10,
  kCancelled = 11,
  kInternal = 12,

  kHostUnsent = 1000,         // no byte reached the worker: REJECTED
  kHostWorkerDied = 1001,     // UNCERTAIN
  kHostDeadline = 1002,       // deadline passed after delivery: UNCERTAIN
  kHostBadReply = 1003,       // the reply failed validation: UNCERTAIN
  kHostUnknownClass = 1004,   // a class this host does not know: UNCERTAIN
  kHostException = 1005,      // thrown without a class: UNCERTAIN
  kHostDetached = 1006,       // ignored cancel beyond its grace: UNCERTAIN
  kHostScopeMismatch = 1007,  // made in another scope than the intent's: UNCERTAIN
  kHostCrash = 1008,          // the host itself died in between: UNCERTAIN
};

// "done", "rejected", ... and "invalid_argument", "host.worker_died", ...
std::string_view to_string(OutcomeClass outcome_class);
std::string_view to_string(OutcomeCode code);

struct Outcome {
  OutcomeClass outcome_class = OutcomeClass::kUnset;
  OutcomeCode code = OutcomeCode::kNone;
  std::chrono::milliseconds retry_after{0};  // 0: not said
  std::string message;
  std::string stage;

  bool done() const { return outcome_class == OutcomeClass::kDone; }

  static Outcome make_done() { return {OutcomeClass::kDone, OutcomeCode::kNone, {}, {}, {}}; }
  static Outcome make(OutcomeClass outcome_class, OutcomeCode code, std::string message) {
    return {outcome_class, code, {}, std::move(message), {}};
  }
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_OUTCOME_H_
