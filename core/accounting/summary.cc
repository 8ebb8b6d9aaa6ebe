#include "core/accounting/summary.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>

namespace berth {
namespace {

template <class T>
T capped_sum(T a, T b) {
  T sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<T>::max() : sum;
}

}  // namespace

std::int64_t total_us(const Receipt& receipt) {
  std::int64_t sum = 0;
  for (const auto& [phase, microseconds] : receipt.timings_us) sum = capped_sum(sum, microseconds);
  return sum;
}

void ReceiptTotals::add(const Receipt& receipt) {
  calls = capped_sum<std::uint64_t>(calls, 1);
  by_settlement[receipt.settlement] += 1;
  if (receipt.cost) {
    cost = Money::micros(capped_sum(cost.micros(), receipt.cost->micros()));
  } else {
    unknown_costs += 1;
  }
  stdout_bytes = capped_sum(stdout_bytes, receipt.stdout_bytes);
  stderr_bytes = capped_sum(stderr_bytes, receipt.stderr_bytes);
  wall_us = capped_sum(wall_us, total_us(receipt));
}

std::uint64_t ReceiptTotals::count(Settlement settlement) const {
  const auto found = by_settlement.find(settlement);
  return found == by_settlement.end() ? 0 : found->second;
}

void ReceiptSummary::add(const Receipt& receipt) {
  constexpr std::size_t kDayLength = 10;
  std::string day = to_rfc3339(receipt.recorded_at).substr(0, kDayLength);
  rows_[{std::move(day), receipt.provider_id}].add(receipt);
  total_.add(receipt);
}

boost::json::object to_json(const ReceiptTotals& totals) {
  boost::json::object settlements;
  for (const auto& [settlement, count] : totals.by_settlement) {
    settlements[to_string(settlement)] = count;
  }
  boost::json::object out;
  out["calls"] = totals.calls;
  out["settlements"] = std::move(settlements);
  out["cost_micro_usd"] = totals.cost.micros();
  out["unknown_costs"] = totals.unknown_costs;
  out["stdout_bytes"] = totals.stdout_bytes;
  out["stderr_bytes"] = totals.stderr_bytes;
  out["wall_us"] = totals.wall_us;
  return out;
}

boost::json::object to_json(const ReceiptSummary& summary) {
  boost::json::array days;
  for (const auto& [key, totals] : summary.rows()) {
    boost::json::object row{{"day", key.first}, {"provider", key.second}};
    for (const auto& member : to_json(totals)) row.insert(member);
    days.push_back(std::move(row));
  }
  return {{"days", std::move(days)}, {"total", to_json(summary.total())}};
}

}  // namespace berth
