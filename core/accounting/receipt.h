// A receipt: the evidence of one intent, and what it cost. Exactly one per intent, for ever.
//
// `cost` absent means unknown, which is not zero: it blocks the owner's paid work until reconciled
// and may become known once.
#ifndef BERTH_CORE_ACCOUNTING_RECEIPT_H_
#define BERTH_CORE_ACCOUNTING_RECEIPT_H_

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/money.h"
#include "core/base/time.h"

namespace berth {

// Why the cost is what it is.
enum class Settlement {
  kCompleted,              // the program ran, output validated, cleanup confirmed: the price
  kInfrastructureFailure,  // 0
  kCancelled,              // 0
  kRefused,                // create was REJECTED or FAILED_CLEAN, or refused before dispatch: 0
  kHostDied,               // the host died before the release: 0
  kUncertain,              // unknown until reconciled
};
// "completed", "infrastructure_failure", "cancelled", "refused", "host_died", "uncertain"
std::string_view to_string(Settlement settlement);
std::optional<Settlement> settlement_from(std::string_view text);

struct Receipt {
  std::string name;  // the intent's name: the key
  std::string owner;
  std::string session;
  std::string call;
  std::string turn;  // by default the call
  std::string provider_id;
  std::string provider_version;
  std::string provider_digest;
  std::vector<std::pair<std::string, std::string>> scope;
  Settlement settlement = Settlement::kUncertain;
  std::optional<Money> cost;
  WallTime recorded_at;
  WallTime settled_at;   // equals recorded_at unless it was unknown first
  std::string evidence;  // who established the end, in words
  std::optional<int> exit_code;
  std::string cause;  // "exited", "oom", ...; empty when nothing ran
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  // Microseconds by phase ("reserve", "create", "install", "run", "collect", "cleanup").
  std::vector<std::pair<std::string, std::int64_t>> timings_us;
  // What the provider says it used and will invoice; another number than `cost`.
  std::optional<std::uint64_t> provider_cpu_ns;
  std::optional<std::uint64_t> provider_wall_ns;
  std::optional<std::uint64_t> provider_memory_peak_bytes;
  std::optional<Money> provider_cost;
};

// The receipt as one JSON object with every field, unknown ones as null. Money is given in
// micro-dollars, times in RFC 3339.
boost::json::object to_json(const Receipt& receipt);

}  // namespace berth

#endif  // BERTH_CORE_ACCOUNTING_RECEIPT_H_
