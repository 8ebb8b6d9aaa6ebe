// The rows of the credits adapter's double-entry ledger, as an interface that a store implements.
// Every posting has two entries of equal and opposite amount, so all entries sum to zero.
#ifndef BERTH_CORE_ACCOUNTING_LEDGER_H_
#define BERTH_CORE_ACCOUNTING_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/money.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace berth {

// One posting: `amount` moves from account `from` to account `to`. Accounts are "owner:<id>",
// "grants" and "usage". `key` makes it idempotent.
struct Posting {
  std::string key;
  std::string from;
  std::string to;
  Money amount;
  std::string memo;
  WallTime at;
};

// What a turn of an owner's session has used and what was debited for it.
struct TurnTotals {
  Money used;     // exact
  Money debited;  // rounded up to the cent
};

class LedgerRows {
 public:
  virtual ~LedgerRows() = default;
  virtual Result<std::optional<Posting>> posting(std::string_view key) = 0;
  // kConflict when the key exists.
  virtual Status insert_posting(const Posting& posting) = 0;
  // Sum of postings to minus postings from the account.
  virtual Result<Money> balance(std::string_view account) = 0;
  // Postings to and from the account, oldest first. Paging: those after the posting with the key
  // `after_key`; empty: from the first.
  virtual Result<std::vector<Posting>> postings(std::string_view account,
                                                std::string_view after_key,
                                                std::size_t count_max) = 0;

  virtual Result<TurnTotals> turn(std::string_view owner, std::string_view session,
                                  std::string_view turn) = 0;
  virtual Status put_turn(std::string_view owner, std::string_view session, std::string_view turn,
                          const TurnTotals& totals) = 0;
  // How many of the owner's receipts have an unknown cost.
  virtual Result<std::uint64_t> unknown_costs(std::string_view owner) = 0;
};

}  // namespace berth

#endif  // BERTH_CORE_ACCOUNTING_LEDGER_H_
