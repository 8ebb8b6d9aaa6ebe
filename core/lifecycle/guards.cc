#include "core/lifecycle/guards.h"

#ifdef BERTH_GUARD_SWITCHES
#include <array>
#include <atomic>
#endif

namespace berth {

std::string_view to_string(Guard which) {
  switch (which) {
    case Guard::kCellDefined:
      return "CellDefined";
    case Guard::kNameMatches:
      return "NameMatches";
    case Guard::kScopeMatches:
      return "ScopeMatches";
    case Guard::kCancelledNeverRuns:
      return "CancelledNeverRuns";
    case Guard::kHolderGone:
      return "HolderGone";
    case Guard::kEvidenceGiven:
      return "EvidenceGiven";
    case Guard::kUnknownIsUncertain:
      return "UnknownIsUncertain";
    case Guard::kAbsenceProven:
      return "AbsenceProven";
    case Guard::kDeletionConfirmed:
      return "DeletionConfirmed";
    case Guard::kPaidWhenComplete:
      return "PaidWhenComplete";
    case Guard::kNotCancelledYet:
      return "NotCancelledYet";
    case Guard::kSameSpec:
      return "SameSpec";
    case Guard::kCallResolved:
      return "CallResolved";
    case Guard::kSessionOpen:
      return "SessionOpen";
    case Guard::kScopeUnchanged:
      return "ScopeUnchanged";
    case Guard::kCommitKnown:
      return "CommitKnown";
    case Guard::kConfirmationCommitted:
      return "ConfirmationCommitted";
    case Guard::kUntainted:
      return "Untainted";
    case Guard::kOneDelete:
      return "OneDelete";
    case Guard::kOwnerMatches:
      return "OwnerMatches";
    case Guard::kNothingUnresolved:
      return "NothingUnresolved";
  }
  return "";
}

#ifdef BERTH_GUARD_SWITCHES
namespace {
std::array<std::atomic<bool>, kGuardCount> guards_off{};
}  // namespace

bool guard(Guard which) {
  return !guards_off[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
}

void set_guard(Guard which, bool on) {
  guards_off[static_cast<std::size_t>(which)].store(!on, std::memory_order_relaxed);
}
#endif

}  // namespace berth
