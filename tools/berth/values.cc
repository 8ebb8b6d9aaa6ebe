#include "tools/berth/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/execution/execution.h"

namespace berth::cli {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Splits "1.5GiB" into 1.5 and "GiB". Only plain decimals: no sign, exponent, inf or nan.
std::optional<double> take_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() &&
         ((text[length] >= '0' && text[length] <= '9') || (text[length] == '.' && length > 0))) {
    ++length;
  }
  if (length == 0 || length > 20) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + length, value);
  if (error != std::errc() || end != text.data() + length) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

template <std::size_t N>
std::optional<double> scaled(std::string_view text, const std::array<Unit, N>& units) {
  const std::optional<double> number = take_number(text);
  if (!number) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name == text) return *number * unit.factor;
  }
  return std::nullopt;
}

constexpr double kKi = 1024;
constexpr std::array kSizeUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"K", kKi},
    Unit{"KiB", kKi},
    Unit{"M", kKi* kKi},
    Unit{"MiB", kKi* kKi},
    Unit{"G", kKi* kKi* kKi},
    Unit{"GiB", kKi* kKi* kKi},
    Unit{"T", kKi* kKi* kKi* kKi},
    Unit{"TiB", kKi* kKi* kKi* kKi},
    Unit{"KB", 1e3},
    Unit{"MB", 1e6},
    Unit{"GB", 1e9},
    Unit{"TB", 1e12},
};
constexpr std::array kDurationUnits = {
    Unit{"", 1}, Unit{"ms", 1e-3}, Unit{"s", 1}, Unit{"m", 60}, Unit{"min", 60}, Unit{"h", 3600},
};
constexpr std::array kAgeUnits = {
    Unit{"s", 1}, Unit{"m", 60}, Unit{"min", 60}, Unit{"h", 3600}, Unit{"d", 86400},
};
constexpr double kDurationMaxSeconds = 24 * 3600;
constexpr double kAgeMaxSeconds = 100.0 * 366 * 86400;
constexpr double kSizeMax = 1e15;

// Fixed-width decimal digits at `at`; nothing when one is missing.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

std::optional<WallTime> parse_day(std::string_view text) {
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  if (!year || !month || !day || text[4] != '-' || text[7] != '-') return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return WallTime(std::chrono::sys_days(date));
}

// "Z", "+01:00", "-08:30": what local time is ahead of UTC.
std::optional<std::chrono::minutes> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::minutes(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const auto hours = digits(text, 1, 2), minutes = digits(text, 4, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes ahead(*hours * 60 + *minutes);
  return text[0] == '-' ? -ahead : ahead;
}

// Takes ".5" or ".123456789" from the front; what is below a millisecond is cut off.
std::optional<std::chrono::milliseconds> take_fraction(std::string_view& text) {
  if (text.empty() || text[0] != '.') return std::chrono::milliseconds(0);
  std::size_t length = 1;
  int millis = 0;
  for (; length < text.size() && text[length] >= '0' && text[length] <= '9'; ++length) {
    if (length <= 3) millis = millis * 10 + (text[length] - '0');
  }
  if (length == 1 || length > 10) return std::nullopt;
  for (std::size_t i = length; i <= 3; ++i) millis *= 10;
  text.remove_prefix(length);
  return std::chrono::milliseconds(millis);
}

std::optional<WallTime> parse_calendar(std::string_view text) {
  if (text.size() < 10) return std::nullopt;
  const auto day = parse_day(text.substr(0, 10));
  if (!day || text.size() == 10) return day;
  if (text.size() < 20 || (text[10] != 'T' && text[10] != 't')) return std::nullopt;
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!hour || !minute || !second || text[13] != ':' || text[16] != ':') return std::nullopt;
  // The sixtieth second is a leap one, which clocks of this kind count as the next.
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  text.remove_prefix(19);
  const auto fraction = take_fraction(text);
  const auto offset = parse_offset(text);
  if (!fraction || !offset) return std::nullopt;
  return *day + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + *fraction - *offset;
}

tl::unexpected<Error> wrong(std::string_view text, std::string_view expected) {
  return fail(ErrorKind::kInvalidArgument,
              fmt::format("'{}' is not {}", text.substr(0, 64), expected));
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto bytes = scaled(text, kSizeUnits);
  if (!bytes || *bytes < 1 || *bytes > kSizeMax) {
    return wrong(text, "a size such as 512M, 2G or 1048576");
  }
  return static_cast<std::uint64_t>(std::llround(*bytes));
}

Result<Duration> parse_duration(std::string_view text) {
  const auto seconds = scaled(text, kDurationUnits);
  if (!seconds || *seconds < 1e-3 || *seconds > kDurationMaxSeconds) {
    return wrong(text, "a duration from 1ms to 24h, such as 30, 1.5s, 250ms or 2m");
  }
  return Duration(std::llround(*seconds * 1e9));
}

Result<std::uint32_t> parse_cpus(std::string_view text) {
  const auto cpus = scaled(text, std::array{Unit{"", 1}});
  if (!cpus || *cpus < 1e-3 || *cpus > 1024) {
    return wrong(text, "a number of CPUs from 0.001 to 1024, such as 0.5 or 2");
  }
  return static_cast<std::uint32_t>(std::lround(*cpus * 1000));
}

Result<std::uint32_t> parse_count(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1'000'000) {
    return wrong(text, "a whole number from 1 to 1000000");
  }
  return value;
}

Result<Money> parse_money(std::string_view text) {
  constexpr std::string_view kExpected = "an amount in dollars such as 5, 0.05 or 12.50";
  constexpr std::size_t kDecimals = 6;
  constexpr std::int64_t kMicrosMax = std::int64_t{1'000'000} * 1'000'000;
  const std::string_view whole_text = text;
  if (text.starts_with('$')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  std::string digits_only(text.substr(0, dot));
  std::string decimals(dot == text.size() ? "" : text.substr(dot + 1));
  if (digits_only.empty() || digits_only.size() > 7 || decimals.size() > kDecimals ||
      (dot != text.size() && decimals.empty())) {
    return wrong(whole_text, kExpected);
  }
  decimals.append(kDecimals - decimals.size(), '0');
  digits_only += decimals;
  std::int64_t micros = 0;
  for (const char c : digits_only) {
    if (c < '0' || c > '9') return wrong(whole_text, kExpected);
    micros = micros * 10 + (c - '0');
  }
  if (micros < 1 || micros > kMicrosMax) return wrong(whole_text, kExpected);
  return Money::micros(micros);
}

Result<std::string> parse_name(const std::string& text) {
  // An empty text is a script's unset variable, never a wish for the default.
  if (text.empty()) return fail(ErrorKind::kInvalidArgument, "the value is empty");
  if (is_name_text(text)) return text;
  return fail(ErrorKind::kInvalidArgument,
              is_valid_utf8(text) ? "the value has control characters in it" : "the value is not valid UTF-8");
}

Result<Duration> parse_age(std::string_view text) {
  const auto seconds = scaled(text, kAgeUnits);
  if (!seconds || *seconds > kAgeMaxSeconds) return wrong(text, "an age such as 90m, 24h or 30d");
  return Duration(std::llround(*seconds * 1e9));
}

Result<WallTime> parse_time(std::string_view text, WallTime now) {
  if (const auto time = parse_calendar(text)) return *time;
  const auto age = parse_age(text);
  if (!age) {
    return wrong(text,
                 "a time such as 2026-11-29, 2026-11-29T22:52:29Z or an age such as 24h or 7d");
  }
  return now - std::chrono::duration_cast<std::chrono::milliseconds>(*age);
}

}  // namespace berth::cli
