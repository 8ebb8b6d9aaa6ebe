// Base64 in both alphabets, and names that nobody else uses. Values; any thread.
#ifndef BERTH_PLUGINS_VERCEL_ENCODING_H_
#define BERTH_PLUGINS_VERCEL_ENCODING_H_

#include <optional>
#include <string>
#include <string_view>

namespace berth::vercel {

// Padded or not; with "-_" in place of "+/" as well. Nothing when it is not base64.
std::optional<std::string> from_base64(std::string_view text);

// The prefix and 96 random bits. Throws Failure when there is no randomness.
std::string fresh_name(std::string_view prefix);

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_ENCODING_H_
