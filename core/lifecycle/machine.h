// The lifecycle's pure machine: what an event makes of an intent, and what must follow.
//
// No I/O, no clock, no memory of its own; any thread. Every refusal goes through a named guard.
//
//   INTENDED -> DISPATCHED -> CREATED -> RUNNING -> CLEANING -> RELEASED     the good way
//   DISPATCHED -> UNCERTAIN -> CLEANING or RELEASED                          a create's answer lost
#ifndef BERTH_CORE_LIFECYCLE_MACHINE_H_
#define BERTH_CORE_LIFECYCLE_MACHINE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/lifecycle/intent.h"
#include "core/lifecycle/provider.h"

namespace berth {

enum class EventKind : std::uint8_t {
  kDispatch,  // the create is about to be asked
  kCancel,    // the caller, the deadline or the host's end
  kRefuse,    // refused between reservation and dispatch
  kCreateDone,
  kCreateRejected,
  kCreateFailedClean,
  kCreateFailedDirty,
  kCreateUncertain,
  kRun,     // the body starts
  kFinish,  // the body has ended, or may not start
  kDeleteConfirmed,
  kDeleteFailed,       // given up for now: nobody works on it until it is reconciled
  kRecover,            // a host takes over what has no living holder
  kFound,              // lookup or fence saw it
  kInconclusive,       // lookup and fence proved nothing
  kFenced,             // absent, and no create of this name can succeed any more
  kEstablishedAbsent,  // an operator's word
  kEstablishedPresent,
  kExpire,  // retention of the result has passed
};
inline constexpr std::size_t kEventKindCount = 19;
inline constexpr std::size_t kIntentStateCount = 7;

// "dispatch", "create_done", ...
std::string_view to_string(EventKind kind);

struct Event {
  EventKind kind = EventKind::kCancel;
  WallTime at;
  std::string evidence;      // who says so and what was seen
  std::string name;          // kCreateDone, kFound: of the sandbox that was answered about
  std::string ref;           // kCreateDone, kCreateFailedDirty, kFound
  Scope scope;               // kCreateDone, kFound
  Holder holder;             // kRecover: the new one
  bool holder_gone = false;  // kRecover: the old one was proven dead, or there was none
};

enum class Effect : std::uint8_t {
  kAskCreate,      // after the commit: ask the provider, once
  kMayRun,         // after the commit: the body may start
  kDelete,         // delete the sandbox until its absence is confirmed
  kSettleReceipt,  // in the same transaction: the receipt, its cost known
  kSuspend,        // in the same transaction: a receipt of unknown cost
};

class Effects {
 public:
  void add(Effect effect) { bits_ |= bit(effect); }
  void add(Effects other) { bits_ |= other.bits_; }
  bool has(Effect effect) const { return (bits_ & bit(effect)) != 0; }
  bool empty() const { return bits_ == 0; }

 private:
  static constexpr unsigned bit(Effect effect) { return 1U << static_cast<unsigned>(effect); }
  unsigned bits_ = 0;
};

struct Transition {
  Intent intent;
  Effects effects;
};

// kRefused with the guard's reason when the event is not legal for this intent now. The revision is
// left alone: it counts commits.
Result<Transition> transition(Intent intent, const Event& event);
// The same in place; an intent whose event is refused is as it was.
Result<Effects> advance(Intent& intent, const Event& event);

// Whether the state table has a cell for this event; without one the machine refuses.
bool is_defined(IntentState state, EventKind kind);

// What a provider's answer means to the machine.
Event event_of_create(Answer<Created> answer, WallTime at);
Event event_of_destroy(const Answer<Destroyed>& answer, WallTime at);
Event event_of_lookup(Answer<Found> answer, WallTime at);

// Whether what the event speaks of is the intent's own sandbox: same name, same scope.
bool is_about(const Intent& intent, const Event& event);

// What a call that ended like this costs.
Money cost_of(Settlement settlement, Money price);

// "done", or "uncertain, host.deadline: <message>": an outcome as evidence, bounded.
std::string describe(const Outcome& outcome);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_MACHINE_H_
