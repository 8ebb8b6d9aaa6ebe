// Totals over receipts, per day and provider. Grows with days and providers, never with receipts.
#ifndef BERTH_CORE_ACCOUNTING_SUMMARY_H_
#define BERTH_CORE_ACCOUNTING_SUMMARY_H_

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/accounting/receipt.h"

namespace berth {

// Sums stay at the largest number there is rather than run over.
struct ReceiptTotals {
  std::uint64_t calls = 0;
  std::map<Settlement, std::uint64_t> by_settlement;  // those that occur
  Money cost;                                         // of the receipts whose cost is known
  std::uint64_t unknown_costs = 0;                    // the others; not zero dollars each
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::int64_t wall_us = 0;  // all phases together

  void add(const Receipt& receipt);
  std::uint64_t count(Settlement settlement) const;
};

// One thread.
class ReceiptSummary {
 public:
  // The UTC day of recording, "2026-11-29", and the provider.
  using Key = std::pair<std::string, std::string>;

  void add(const Receipt& receipt);
  const std::map<Key, ReceiptTotals>& rows() const { return rows_; }
  const ReceiptTotals& total() const { return total_; }

 private:
  std::map<Key, ReceiptTotals> rows_;
  ReceiptTotals total_;
};

// All phases of a receipt together, in microseconds.
std::int64_t total_us(const Receipt& receipt);

boost::json::object to_json(const ReceiptTotals& totals);
// {"days": [{"day", "provider", ...totals}], "total": {...}}
boost::json::object to_json(const ReceiptSummary& summary);

}  // namespace berth

#endif  // BERTH_CORE_ACCOUNTING_SUMMARY_H_
