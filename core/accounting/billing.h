// Billing: decides whether paid work may start and posts debits. An adapter, absent by default:
// without one, usage is recorded and nothing is debited.
#ifndef BERTH_CORE_ACCOUNTING_BILLING_H_
#define BERTH_CORE_ACCOUNTING_BILLING_H_

#include <string_view>

#include "core/accounting/ledger.h"
#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace berth {

// Works inside the store's own transactions, on the store's thread, possibly more than once for one
// commit: implementations are stateless but for their configuration.
class Billing {
 public:
  virtual ~Billing() = default;
  // Before the intent is inserted: an error refuses the call, and nothing is written.
  virtual Status admit(LedgerRows& ledger, std::string_view owner, WallTime now) const = 0;
  // In the transaction that records or settles a receipt of known cost. Called once per receipt.
  virtual Status debit(LedgerRows& ledger, const Receipt& receipt) const = 0;
};

}  // namespace berth

#endif  // BERTH_CORE_ACCOUNTING_BILLING_H_
