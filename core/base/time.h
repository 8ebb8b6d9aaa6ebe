// Time as types: wall time for records, monotonic time for deadlines.
#ifndef BERTH_CORE_BASE_TIME_H_
#define BERTH_CORE_BASE_TIME_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace berth {

using Duration = std::chrono::nanoseconds;
// Deadlines and measured intervals. CLOCK_MONOTONIC.
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;
inline Instant now() { return std::chrono::steady_clock::now(); }

// What records say. Millisecond resolution, UTC; may jump.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

inline std::int64_t unix_ms(WallTime time) { return time.time_since_epoch().count(); }
inline WallTime wall_time_from_unix_ms(std::int64_t ms) {
  return WallTime(std::chrono::milliseconds(ms));
}

inline WallTime wall_now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// RFC 3339 in UTC with milliseconds: "2026-11-29T22:52:29.123Z".
std::string to_rfc3339(WallTime time);

// A duration for people: "340 ms", "12 s", "5 min 3 s", "2 h 10 min".
std::string to_human(Duration duration);

}  // namespace berth

#endif  // BERTH_CORE_BASE_TIME_H_
