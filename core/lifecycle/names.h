// Names of intents: one stable, opaque name for one call in one scope.
#ifndef BERTH_CORE_LIFECYCLE_NAMES_H_
#define BERTH_CORE_LIFECYCLE_NAMES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/lifecycle/intent.h"

namespace berth {

// How a name is made of its digest.
struct NameFormat {
  std::string_view domain_word;  // first element of the hashed array: keeps formats apart
  std::string_view prefix;
  std::size_t hex_chars = 0;  // at most 64
};

// 38 characters, which every known service accepts.
inline constexpr NameFormat kBerthNames{"berth-v1", "berth-", 32};

// prefix + the first hex_chars of SHA-256 over the compact JSON array
// [domain word, scope values..., owner, session, call]. The array's framing keeps "a:b","c" and
// "a","b:c" apart. Refuses a blank value: there is no anonymous sandbox.
Result<std::string> intent_name(const NameFormat& format, std::span<const std::string> scope_values,
                                const CallKey& key);

// Berth's own name for a call in a scope.
Result<std::string> intent_name(const Scope& scope, const CallKey& key);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_NAMES_H_
