// SPDX-License-Identifier: Apache-2.0
//
// What one entered provider is doing: not yet open, open with so many operations, closing, over.
//
// The gate makes three rules of the contract hold whatever the author writes: nothing is built
// before open [OPEN-001], an operation outside the open time is refused, and shutdown waits for the
// others [SHUT-001]. Its lock is held for a few instructions and never across a call.
#ifndef BERTH_DETAIL_GATE_HPP
#define BERTH_DETAIL_GATE_HPP

#include <cxxabi.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "berth/abi.h"
#include "berth/answer.hpp"
#include "berth/host.hpp"

namespace berth {
inline namespace sdk_v1 {
namespace detail {

class Gate {
 public:
  enum class Phase { kVacant, kEntered, kOpening, kOpen, kClosing };

  constexpr Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // From the entry, when this gate is vacant.
  void enter(const berth_host_v1* host) {
    host_.emplace(host);
    set_phase(Phase::kEntered);
  }

  const Host& host() const { return *host_; }
  bool vacant() const { return phase() == Phase::kVacant; }

  bool begin_open() {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::kEntered) return false;
    phase_ = Phase::kOpening;
    return true;
  }

  void set_phase(Phase phase) {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
  }

  bool begin_operation() {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::kOpen) return false;
    ++open_operations_;
    return true;
  }

  // True when the caller has to start the shutdown that was waiting for this operation.
  bool end_operation() {
    const std::lock_guard lock(mutex_);
    --open_operations_;
    return phase_ == Phase::kClosing && open_operations_ == 0;
  }

  enum class Closing { kStartNow, kWhenOperationsEnd, kNothingIsOpen };

  Closing begin_shutdown(berth_op op) {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::kOpen) {
      phase_ = Phase::kVacant;
      return Closing::kNothingIsOpen;
    }
    phase_ = Phase::kClosing;
    shutdown_op_ = op;
    return open_operations_ == 0 ? Closing::kStartNow : Closing::kWhenOperationsEnd;
  }

  berth_op shutdown_op() const { return shutdown_op_; }

 private:
  Phase phase() const {
    const std::lock_guard lock(mutex_);
    return phase_;
  }

  mutable std::mutex mutex_;
  Phase phase_ = Phase::kVacant;
  std::uint64_t open_operations_ = 0;
  berth_op shutdown_op_ = 0;
  std::optional<Host> host_;
};

// Completes `op` from the exception being handled. A Failure keeps its class; anything else
// asserted nothing. [ERR-001]
inline void answer_exception(const Host& host, berth_op op, const char* id, const char* slot,
                             std::exception_ptr exception) {
  const auto unset = [&](const char* what) {
    answer_failure(host, op, OutcomeClass::kUnset, Code::kInternal,
                   std::string(id) + ": " + slot + ": " + what);
  };
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const Failure& failure) {
    answer_failure(host, op, failure.outcome_class(), failure.code(), failure.message(),
                   static_cast<std::uint64_t>(failure.retry_after().count()));
  } catch (const std::exception& other) {
    unset(other.what());
  } catch (...) {
    unset("an exception of an unknown type");
  }
}

// Runs `body`, which completes `op` as its last step; completes it in its place when it throws.
// A forced unwind (thread cancellation) must go on, or the process ends. [ERR-002]
template <class Body>
void guarded(const Host& host, berth_op op, const char* id, const char* slot, Body body) {
  try {
    body();
  } catch (abi::__forced_unwind&) {
    answer_failure(host, op, OutcomeClass::kUnset, Code::kInternal, "the thread was cancelled");
    throw;
  } catch (...) {
    answer_exception(host, op, id, slot, std::current_exception());
  }
}

// The sentence for an operation that came before open or after shutdown.
inline void answer_not_open(const Host& host, berth_op op, const char* id, const char* slot) {
  answer_failure(
      host, op, OutcomeClass::kRejected, Code::kUnavailable,
      std::string(id) + ": " + slot + " was called while the provider is not open [OPEN-001]");
}

}  // namespace detail
}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_DETAIL_GATE_HPP
