// SPDX-License-Identifier: Apache-2.0
//
// How a provider says that something did not work: an outcome class, a code and a sentence.
//
// Throw a Failure from any slot of berth::Provider or berth::AsyncProvider. Its class is a claim
// about what may exist now, and the host believes it, so choose by what was established and not by
// what is likely. Any other exception leaves the provider as "nothing was asserted", which is
// always safe.
#ifndef BERTH_OUTCOME_HPP
#define BERTH_OUTCOME_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "berth/abi.h"

namespace berth {
inline namespace sdk_v1 {

enum class OutcomeClass : std::uint32_t {
  kUnset = BERTH_UNSET,
  kDone = BERTH_DONE,
  kRejected = BERTH_REJECTED,
  kFailedClean = BERTH_FAILED_CLEAN,
  kFailedDirty = BERTH_FAILED_DIRTY,
  kUncertain = BERTH_UNCERTAIN,
};

enum class Code : std::uint32_t {
  kNone = BERTH_CODE_NONE,
  kInvalidArgument = BERTH_CODE_INVALID_ARGUMENT,
  kUnsupported = BERTH_CODE_UNSUPPORTED,
  kNotFound = BERTH_CODE_NOT_FOUND,
  kConflict = BERTH_CODE_CONFLICT,
  kQuota = BERTH_CODE_QUOTA,
  kRateLimited = BERTH_CODE_RATE_LIMITED,
  kUnauthenticated = BERTH_CODE_UNAUTHENTICATED,
  kPermission = BERTH_CODE_PERMISSION,
  kUnavailable = BERTH_CODE_UNAVAILABLE,
  kTimeout = BERTH_CODE_TIMEOUT,
  kCancelled = BERTH_CODE_CANCELLED,
  kInternal = BERTH_CODE_INTERNAL,
};

// An outcome other than DONE. A value: it owns its text and may be copied and thrown on any thread.
class Failure : public std::exception {
 public:
  // Refused before any effect: nothing was sent, nothing was made.
  static Failure rejected(Code code, std::string message) {
    return Failure(OutcomeClass::kRejected, code, std::move(message));
  }
  // Tried, undid it, and verified that it is undone.
  static Failure failed_clean(Code code, std::string message) {
    return Failure(OutcomeClass::kFailedClean, code, std::move(message));
  }
  // Tried; something is left under this name.
  static Failure failed_dirty(Code code, std::string message) {
    return Failure(OutcomeClass::kFailedDirty, code, std::move(message));
  }
  // Not known. A connection lost after the request was sent is this, not failed_clean.
  static Failure uncertain(Code code, std::string message) {
    return Failure(OutcomeClass::kUncertain, code, std::move(message));
  }

  // The same failure with a hint when to try again.
  Failure retry_after(std::chrono::milliseconds delay) && {
    retry_after_ = delay;
    return std::move(*this);
  }

  OutcomeClass outcome_class() const noexcept { return class_; }
  Code code() const noexcept { return code_; }
  std::chrono::milliseconds retry_after() const& noexcept { return retry_after_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Failure(OutcomeClass outcome_class, Code code, std::string message)
      : class_(outcome_class), code_(code), message_(std::move(message)) {}

  OutcomeClass class_;
  Code code_;
  std::chrono::milliseconds retry_after_{0};
  std::string message_;
};

}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_OUTCOME_HPP
