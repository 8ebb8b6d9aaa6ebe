// An intent: the durable record of one call's sandbox, written before any provider is asked.
#ifndef BERTH_CORE_LIFECYCLE_INTENT_H_
#define BERTH_CORE_LIFECYCLE_INTENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/lifecycle/provider.h"

namespace berth {

enum class IntentState {
  kIntended,
  kDispatched,
  kCreated,
  kRunning,
  kCleaning,
  kUncertain,
  kReleased,
};
// "INTENDED", "DISPATCHED", ...
std::string_view to_string(IntentState state);
std::optional<IntentState> intent_state_from(std::string_view text);

// Who works on an intent. Another host may recover it only when `lock_path` can be locked. All
// empty: nobody does, and any host may reconcile it.
struct Holder {
  std::string boot_id;
  std::string host_id;
  std::string lock_path;
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct CallKey {
  std::string owner;
  std::string session;
  std::string call;
  friend bool operator==(const CallKey&, const CallKey&) = default;
};

struct Intent {
  std::string name;  // primary key and idempotency key
  CallKey key;
  std::string turn;
  std::string provider_id;
  std::string provider_version;
  std::string provider_digest;
  std::string spec_digest;  // SHA-256 of the canonical request
  Scope scope;
  Holder holder;
  IntentState state = IntentState::kIntended;
  bool dispatched = false;  // false: provably nothing was asked of the provider
  bool cancel_requested = false;
  std::string ref;
  // The bounded result document, committed with the release; empty after retention has passed or
  // when the call ended without one.
  std::optional<std::string> result;
  bool result_expired = false;
  WallTime created_at;
  WallTime updated_at;
  std::uint32_t cleanup_attempts = 0;
  std::string last_error;
  std::string last_stage;
  std::uint64_t revision = 0;  // rises with every commit; a stale writer is refused
};

// One line of the append-only journal.
struct JournalEntry {
  std::string name;
  IntentState from = IntentState::kIntended;
  IntentState to = IntentState::kIntended;
  std::string event;     // the machine's event, by name
  std::string evidence;  // who established it and what was seen
  WallTime at;
};

// The same of an intent that is named beside it, to be written. Its texts belong to the caller.
struct JournalLine {
  IntentState from = IntentState::kIntended;
  IntentState to = IntentState::kIntended;
  std::string_view event;
  std::string_view evidence;
  WallTime at;
};

enum class SessionState { kOpen, kRetiring, kRetired };
// "open", "retiring", "retired"
std::string_view to_string(SessionState state);
std::optional<SessionState> session_state_from(std::string_view text);

struct SessionRecord {
  std::string owner;
  std::string session;
  SessionState state = SessionState::kOpen;
  WallTime updated_at;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_INTENT_H_
