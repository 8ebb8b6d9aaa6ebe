// The values people type on the command line: sizes, durations, times, CPU counts.
#ifndef BERTH_TOOLS_BERTH_VALUES_H_
#define BERTH_TOOLS_BERTH_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/money.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace berth::cli {

// The name of an owner, a session, a call and the like, as it is.
Result<std::string> parse_name(const std::string& text);

// "512M", "2GiB", "4096": bytes. K, M, G and T are powers of 1024; KB, MB, GB and TB of 1000.
Result<std::uint64_t> parse_size(std::string_view text);

// "90", "1.5s", "250ms", "2m", "1h": a number without a unit is seconds. At most 24 hours.
Result<Duration> parse_duration(std::string_view text);

// "0.5", "2": thousandths of a CPU, at most 1024 CPUs.
Result<std::uint32_t> parse_cpus(std::string_view text);

// A whole number from 1 to 1 000 000.
Result<std::uint32_t> parse_count(std::string_view text);

// "5", "0.05", "$12.50": dollars, from one micro-dollar to a million dollars.
Result<Money> parse_money(std::string_view text);

// "90m", "24h", "30d": at most 100 years.
Result<Duration> parse_age(std::string_view text);

// "2026-11-29" (UTC), RFC 3339 such as "2026-11-29T22:52:29Z" or "2026-11-29T23:52:29.5+01:00", or
// an age before `now`.
Result<WallTime> parse_time(std::string_view text, WallTime now);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_VALUES_H_
