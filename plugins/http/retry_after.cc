#include "plugins/http/retry_after.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::http {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

std::optional<unsigned> number(std::string_view text) {
  unsigned out = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return out;
}

std::optional<unsigned> month(std::string_view text) {
  const auto at = text.size() == 3 ? kMonths.find(text) : std::string_view::npos;
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  return static_cast<unsigned>(at / 3 + 1);
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(" ,-"), text.size());
    if (end != 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::optional<std::chrono::seconds> time_of_day(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto h = number(text.substr(0, 2)), m = number(text.substr(3, 2));
  const auto s = number(text.substr(6, 2));
  if (!h || !m || !s || *h > 23 || *m > 59 || *s > 60) return std::nullopt;
  return std::chrono::hours(*h) + std::chrono::minutes(*m) + std::chrono::seconds(*s);
}

// "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994".
std::optional<std::chrono::sys_seconds> http_date(std::string_view text) {
  const auto part = words(text);
  std::optional<unsigned> day, mon, year;
  std::optional<std::chrono::seconds> clock;
  if (part.size() == 6 && part[5] == "GMT") {
    day = number(part[1]), mon = month(part[2]), year = number(part[3]);
    clock = time_of_day(part[4]);
    // Two digits of a year mean the nearest that is at most fifty years ahead.
    if (year && part[3].size() == 2) *year += *year < 70 ? 2000 : 1900;
  } else if (part.size() == 5) {
    mon = month(part[1]), day = number(part[2]), year = number(part[4]);
    clock = time_of_day(part[3]);
  }
  if (!day || !mon || !year || !clock || *year > 9999) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*mon), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + *clock;
}

}  // namespace

std::optional<milliseconds> retry_after(std::string_view value,
                                        std::chrono::system_clock::time_point now) {
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  const bool digits = !value.empty() && std::all_of(value.begin(), value.end(),
                                                    [](char c) { return c >= '0' && c <= '9'; });
  if (digits) {
    const auto seconds = value.size() > 9 ? std::optional<unsigned>(999'999'999) : number(value);
    return std::min<milliseconds>(std::chrono::seconds(seconds.value_or(0)), kRetryAfterMax);
  }
  const auto date = http_date(value);
  if (!date) return std::nullopt;
  const auto wait = std::chrono::ceil<milliseconds>(*date - now);
  return std::clamp<milliseconds>(wait, milliseconds(0), kRetryAfterMax);
}

}  // namespace berth::http
