// Credits: the built-in billing adapter, a double-entry ledger with a grant for new owners.
//
// Paid work needs a strictly positive balance and no unknown cost. Nothing is reserved, so a
// balance may go below zero by what was in flight. Debits are rounded up to the cent once per turn.
#ifndef BERTH_CORE_ACCOUNTING_CREDITS_H_
#define BERTH_CORE_ACCOUNTING_CREDITS_H_

#include <string>
#include <string_view>

#include "core/accounting/billing.h"

namespace berth {

struct CreditsConfig {
  Money initial_grant = Money::micros(500'000);  // given once to every new owner
};

// Stateless but for its configuration; any thread.
class Credits : public Billing {
 public:
  explicit Credits(CreditsConfig config = {}) : config_(config) {}

  Status admit(LedgerRows& ledger, std::string_view owner, WallTime now) const override;
  Status debit(LedgerRows& ledger, const Receipt& receipt) const override;

  // The owner's balance; a new owner gets the grant first.
  Result<Money> balance(LedgerRows& ledger, std::string_view owner, WallTime now) const;
  // Adds `amount` > 0 once per (owner, key): the same key and amount again changes nothing, another
  // amount is kConflict.
  Status grant(LedgerRows& ledger, std::string_view owner, std::string_view key, Money amount,
               std::string_view memo, WallTime now) const;

 private:
  CreditsConfig config_;
};

// The ledger account of an owner: "owner:<id>".
std::string owner_account(std::string_view owner);

}  // namespace berth

#endif  // BERTH_CORE_ACCOUNTING_CREDITS_H_
