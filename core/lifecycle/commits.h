// Units of work of the lifecycle: what is read, decided and written in one transaction.
#ifndef BERTH_CORE_LIFECYCLE_COMMITS_H_
#define BERTH_CORE_LIFECYCLE_COMMITS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/accounting/billing.h"
#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/machine.h"
#include "core/lifecycle/store.h"

namespace berth {

// What a settling transition writes beside the state.
struct Settling {
  Settlement settlement = Settlement::kInfrastructureFailure;
  Receipt draft;  // evidence only: the unit of work fills in identity, settlement, cost and times
  std::optional<std::string> result;
  std::string last_error;  // what a replay says of a call that did not complete
};

// Events that become durable together.
struct Step {
  std::vector<Event> events;
  Settling settling;
  bool settle_now = false;  // the caller is told now, though the intent is not released yet
  std::string stage;        // the provider's last stage; empty keeps the stored one
};

// How usage is priced and billed; copied into every unit of work.
struct Pricing {
  Money price;
  const Billing* billing = nullptr;
};

// An intent in the hands of the one who works on it: what is known to be committed, and what is
// not.
//
// A step whose commit failed is not lost: it rides along with the next one, which finds out by the
// stored revision what had arrived.
class Progress {
 public:
  explicit Progress(Intent known) : known_(std::move(known)), ref_(known_.ref) {}

  // Commits every step not known to be committed, then this one. The effects are those of the steps
  // that this commit made durable. A step that the machine refuses is dropped; one without events
  // is no step, and only tries again what is pending.
  Task<Result<Effects>> commit(Store& store, Pricing pricing, Step step);

  bool has_pending() const { return !pending_.empty(); }
  // As last known to be committed.
  const Intent& intent() const { return known_; }
  // The provider's reference, known from the create's answer on, committed or not.
  const std::string& ref() const { return ref_; }
  // The receipt that the last commit recorded, found or settled.
  const std::optional<Receipt>& receipt() const { return receipt_; }
  // The same for who needs neither any more.
  std::optional<Receipt> take_receipt() { return std::exchange(receipt_, std::nullopt); }
  std::optional<std::string> take_result() { return std::exchange(known_.result, std::nullopt); }

 private:
  Intent known_;
  std::string ref_;
  std::vector<Step> pending_;
  std::optional<Receipt> receipt_;
};

// Records the receipt once: the first time it is inserted, later it may only turn from unknown to
// known cost. Posts the debit when the cost becomes known. Returns what is recorded, where that is
// not the receipt as given.
Result<std::optional<Receipt>> record_receipt(Transaction& transaction, const Billing* billing,
                                              const Receipt& receipt);

struct ReserveRequest {
  Intent intent;         // INTENDED, complete
  bool dispatch = true;  // in the same commit
  std::string application = {};  // see SandboxRequest
};

// What the reservation found.
struct Reserved {
  std::optional<Intent> intent;    // reserved by this unit
  std::optional<Intent> earlier;   // the call exists already; nothing was written
  std::optional<Receipt> receipt;  // of the earlier one
  // Set when the commit's outcome is not known: what is above may or may not be stored.
  std::optional<Error> unknown;
};

// Reserves in one transaction: the call is new, the session open, no intent of the provider open in
// another scope, billing admits it.
Task<Result<Reserved>> reserve(Store& store, Pricing pricing, ReserveRequest request);

// The stored intent of a call with its receipt, if any.
Task<Result<Reserved>> read_call(Store& store, CallKey key);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_COMMITS_H_
