#include "core/base/time.h"

#include <fmt/format.h>

namespace berth {

std::string to_rfc3339(WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(time - days);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string to_human(Duration duration) {
  using namespace std::chrono;
  if (duration < milliseconds(1)) return fmt::format("{} us", duration_cast<microseconds>(duration).count());
  if (duration < seconds(1)) return fmt::format("{} ms", duration_cast<milliseconds>(duration).count());
  const auto total = duration_cast<seconds>(duration).count();
  if (total < 60) return fmt::format("{}.{} s", total, duration_cast<milliseconds>(duration).count() % 1000 / 100);
  if (total < 3600) return fmt::format("{} min {} s", total / 60, total % 60);
  return fmt::format("{} h {} min", total / 3600, total % 3600 / 60);
}

}  // namespace berth
