// When a service wants to be asked again.
#ifndef BERTH_PLUGINS_HTTP_RETRY_AFTER_H_
#define BERTH_PLUGINS_HTTP_RETRY_AFTER_H_

#include <chrono>
#include <optional>
#include <string_view>

namespace berth::http {

// Longer waits are read as this one.
inline constexpr std::chrono::hours kRetryAfterMax{24};

// The value of a Retry-After field in either form: seconds, or an HTTP date in any of its three
// spellings, counted from `now`. A date in the past is zero; what is neither is nothing.
std::optional<std::chrono::milliseconds> retry_after(std::string_view value,
                                                     std::chrono::system_clock::time_point now);

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_RETRY_AFTER_H_
