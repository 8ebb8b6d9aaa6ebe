// Reconciliation: settles intents that nobody works on any more, and never by guessing.
//
// One pass takes over every intent without a living holder: what was reserved only is released,
// what was confirmed is deleted, what is uncertain is looked up and, where the provider can,
// fenced. A living holder's intent is not touched. Everything is reported; nothing is printed.
#ifndef BERTH_CORE_LIFECYCLE_RECONCILE_H_
#define BERTH_CORE_LIFECYCLE_RECONCILE_H_

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/with_sandbox.h"

namespace berth {

// What an operator has established about an uncertain create.
enum class Established { kAbsent, kPresent };

struct ReconcileOptions {
  std::string owner;                       // empty: an operator, who sees every owner
  std::string session;                     // empty: all
  std::string name;                        // empty: all
  std::optional<Established> established;  // needs `name` and `evidence`
  std::string evidence;                    // who established it, and what was seen
  bool provider_gone = false;   // it cannot be loaded: nobody else can settle what is being cleaned
  bool confirmed_only = false;  // leave uncertain creates alone and ask nothing about them
  bool due_only = false;        // leave out what was tried a short while ago (growing pauses)
  bool sweep = false;           // compare with what the provider lists as this host's
};

// What one pass did to one intent.
struct ReconciledIntent {
  enum class Result {
    kReleased,    // settled: nothing of it exists
    kUnresolved,  // tried; `detail` says what is missing
    kHeld,        // a living host, or a call of this process, works on it
    kForeign,     // another provider's or another scope's
    kLeft,        // not due yet, or uncertain with confirmed_only
  };
  std::string name;
  CallKey key;
  std::string provider_id;
  IntentState before = IntentState::kIntended;
  IntentState after = IntentState::kIntended;
  Result result = Result::kUnresolved;
  std::string detail;  // a sentence
};
std::string_view to_string(ReconciledIntent::Result result);

// A resource under this host's tag that the store does not account for. Never deleted here.
struct StrayResource {
  Listed listed;
  bool released = false;  // the store knows the name, but as released
};

struct ReconcileReport {
  std::vector<ReconciledIntent> intents;
  // What a provider made ahead for calls to come: never named, and somebody keeps it.
  std::vector<Listed> made_ahead;
  std::vector<StrayResource> strays;
  std::string sweep_error;  // empty when the sweep was made or not asked for
  std::size_t count(ReconciledIntent::Result result) const;
};

// One pass. kNotFound when `name` names no intent that this owner can see.
Task<Result<ReconcileReport>> reconcile(LifecycleServices& services, ReconcileOptions options);

// When an intent is due for another try: the pause grows with every failure, to five minutes.
WallTime due_at(const Intent& intent);

// Appends every late answer of the provider to its intent's journal. Call once, before the first
// call; `services` must live as long as the provider can answer.
void record_late_answers(LifecycleServices& services, boost::asio::any_io_executor executor);

// Drops recorded results of calls released before `released_before`; replays then say so.
// The number of results dropped.
Task<Result<std::size_t>> expire_results(LifecycleServices& services, WallTime released_before);

// Retiring a session: begin refuses new calls from its commit on; finish succeeds only when no
// intent of the session is unresolved. Both may be repeated.
Task<Result<SessionRecord>> begin_retire(LifecycleServices& services, CallKey session);
// What the session still has open; empty: it is retired now.
Task<Result<std::vector<Intent>>> finish_retire(LifecycleServices& services, CallKey session);

struct RetireReport {
  SessionState state = SessionState::kRetiring;
  ReconcileReport cleaned;
  std::vector<Intent> unresolved;
};
// Begins, cleans what is confirmed, and finishes if nothing is unresolved. Only owner and session
// of `session` are used. Asks the provider nothing when the session has nothing open.
Task<Result<RetireReport>> retire_session(LifecycleServices& services, CallKey session);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_RECONCILE_H_
