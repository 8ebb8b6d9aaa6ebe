#include "core/accounting/receipt.h"

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace berth {
namespace {

constexpr std::array kAllSettlements = {
    Settlement::kCompleted, Settlement::kInfrastructureFailure,
    Settlement::kCancelled, Settlement::kRefused,
    Settlement::kHostDied,  Settlement::kUncertain,
};

template <class T>
boost::json::value or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  return *value;
}

boost::json::value money_or_null(const std::optional<Money>& money) {
  if (!money) return nullptr;
  return money->micros();
}

}  // namespace

std::string_view to_string(Settlement settlement) {
  switch (settlement) {
    case Settlement::kCompleted:
      return "completed";
    case Settlement::kInfrastructureFailure:
      return "infrastructure_failure";
    case Settlement::kCancelled:
      return "cancelled";
    case Settlement::kRefused:
      return "refused";
    case Settlement::kHostDied:
      return "host_died";
    case Settlement::kUncertain:
      return "uncertain";
  }
  return "";
}

std::optional<Settlement> settlement_from(std::string_view text) {
  for (const Settlement settlement : kAllSettlements) {
    if (to_string(settlement) == text) return settlement;
  }
  return std::nullopt;
}

boost::json::object to_json(const Receipt& receipt) {
  boost::json::object scope;
  for (const auto& [field, value] : receipt.scope) scope[field] = value;
  boost::json::object timings;
  for (const auto& [phase, micros] : receipt.timings_us) timings[phase] = micros;
  boost::json::object json;
  json["name"] = receipt.name;
  json["owner"] = receipt.owner;
  json["session"] = receipt.session;
  json["call"] = receipt.call;
  json["turn"] = receipt.turn;
  json["provider"] = receipt.provider_id;
  json["provider_version"] = receipt.provider_version;
  json["provider_digest"] = receipt.provider_digest;
  json["scope"] = std::move(scope);
  json["settlement"] = to_string(receipt.settlement);
  json["cost_micro_usd"] = money_or_null(receipt.cost);
  json["recorded_at"] = to_rfc3339(receipt.recorded_at);
  json["settled_at"] = to_rfc3339(receipt.settled_at);
  json["evidence"] = receipt.evidence;
  json["exit_code"] = or_null(receipt.exit_code);
  json["cause"] = receipt.cause;
  json["stdout_bytes"] = receipt.stdout_bytes;
  json["stderr_bytes"] = receipt.stderr_bytes;
  json["timings_us"] = std::move(timings);
  json["provider_cpu_ns"] = or_null(receipt.provider_cpu_ns);
  json["provider_wall_ns"] = or_null(receipt.provider_wall_ns);
  json["provider_memory_peak_bytes"] = or_null(receipt.provider_memory_peak_bytes);
  json["provider_cost_micro_usd"] = money_or_null(receipt.provider_cost);
  return json;
}

}  // namespace berth
