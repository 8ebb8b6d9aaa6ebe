// Guards: every way in which the lifecycle refuses, by name, so that a test can take each away and
// see that the simulator notices.
#ifndef BERTH_CORE_LIFECYCLE_GUARDS_H_
#define BERTH_CORE_LIFECYCLE_GUARDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

enum class Guard : std::uint8_t {
  // The machine.
  kCellDefined,         // an event outside the state table changes nothing
  kNameMatches,         // an answer about another name is not about this intent
  kScopeMatches,        // what lives in another scope is not this intent's
  kCancelledNeverRuns,  // a create that succeeds after the cancel goes to cleaning
  kHolderGone,          // a living holder's intent is not recovered
  kEvidenceGiven,       // an operator's word needs evidence
  kUnknownIsUncertain,  // only REJECTED and FAILED_CLEAN say that a create left nothing
  kAbsenceProven,       // one missing-resource answer is not proof of absence
  kDeletionConfirmed,   // only the provider's own confirmation ends an allocation
  kPaidWhenComplete,    // a price is due for completed calls only
  // The way through.
  kNotCancelledYet,        // a cancelled call reserves nothing
  kSameSpec,               // the same call with another request is a conflict
  kCallResolved,           // an unresolved call is refused, not answered
  kSessionOpen,            // a retiring session takes no new call
  kScopeUnchanged,         // another account or key must not act while intents are open
  kCommitKnown,            // nothing is asked of a provider after a failed commit
  kConfirmationCommitted,  // no source runs before the confirmation is committed
  kUntainted,              // nothing more is asked of a sandbox after a lost operation
  kOneDelete,              // one delete in flight for one allocation
  kOwnerMatches,           // other owners neither see nor act
  kNothingUnresolved,      // a session retires only when all its intents are released
};
inline constexpr std::size_t kGuardCount = 21;

// The enumerator's name without k: "CellDefined".
std::string_view to_string(Guard guard);

#ifdef BERTH_GUARD_SWITCHES
// Test builds only. Set before threads start.
bool guard(Guard which);
void set_guard(Guard which, bool on);
#else
constexpr bool guard(Guard) { return true; }
#endif

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_GUARDS_H_
