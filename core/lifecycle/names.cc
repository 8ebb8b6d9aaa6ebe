#include "core/lifecycle/names.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <vector>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/sha256.h"

namespace berth {
namespace {

// Generous for any account id or call id, and small enough that hashing stays cheap.
constexpr std::size_t kPartBytesMax = 4096;
constexpr std::size_t kDigestChars = 64;

Status append_part(boost::json::array& array, std::string_view what, std::string_view value) {
  if (is_blank(value))
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("{} is blank; a sandbox needs owner, session and call, and is never "
                            "anonymous",
                            what));
  if (value.size() > kPartBytesMax)
    return fail(ErrorKind::kLimit, fmt::format("{} has {} bytes, at most {} are accepted", what,
                                               value.size(), kPartBytesMax));
  if (!is_valid_utf8(value))
    return fail(ErrorKind::kInvalidArgument, fmt::format("{} is not valid UTF-8", what));
  array.emplace_back(value);
  return {};
}

}  // namespace

Result<std::string> intent_name(const NameFormat& format, std::span<const std::string> scope_values,
                                const CallKey& key) {
  if (format.hex_chars == 0 || format.hex_chars > kDigestChars)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("a name of {} hexadecimal characters cannot be made of SHA-256",
                            format.hex_chars));
  boost::json::array array;
  array.reserve(scope_values.size() + 4);
  array.emplace_back(format.domain_word);
  for (const std::string& value : scope_values)
    BERTH_CHECK_OK(append_part(array, "a scope value", value));
  BERTH_CHECK_OK(append_part(array, "owner", key.owner));
  BERTH_CHECK_OK(append_part(array, "session", key.session));
  BERTH_CHECK_OK(append_part(array, "call", key.call));
  const std::string digest = sha256_hex(to_json_text(boost::json::value(std::move(array))));
  return std::string(format.prefix) + digest.substr(0, format.hex_chars);
}

Result<std::string> intent_name(const Scope& scope, const CallKey& key) {
  std::vector<std::string> values;
  values.reserve(scope.size());
  for (const auto& [field, value] : scope) values.push_back(value);
  return intent_name(kBerthNames, values, key);
}

}  // namespace berth
