// Base64 (RFC 4648, with padding), for files inside JSON.
#ifndef BERTH_CORE_EXECUTION_BASE64_H_
#define BERTH_CORE_EXECUTION_BASE64_H_

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace berth {

std::string to_base64(std::string_view bytes);
Result<std::string> from_base64(std::string_view text);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_BASE64_H_
