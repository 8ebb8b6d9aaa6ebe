#include "core/base/error.h"

#include <cerrno>
#include <system_error>

namespace berth {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument: return "invalid_argument";
    case ErrorKind::kNotFound: return "not_found";
    case ErrorKind::kConflict: return "conflict";
    case ErrorKind::kRefused: return "refused";
    case ErrorKind::kUnavailable: return "unavailable";
    case ErrorKind::kTimeout: return "timeout";
    case ErrorKind::kCancelled: return "cancelled";
    case ErrorKind::kCorrupt: return "corrupt";
    case ErrorKind::kLimit: return "limit";
    case ErrorKind::kIo: return "io";
    case ErrorKind::kUnknownOutcome: return "unknown_outcome";
    case ErrorKind::kInternal: return "internal";
  }
  return "internal";
}

Error Error::with(std::string_view context) const {
  std::string text;
  text.reserve(context.size() + 2 + message_.size());
  text.append(context).append(": ").append(message_);
  return Error(kind_, std::move(text));
}

Error os_error(int errno_value, std::string_view what) {
  ErrorKind kind = ErrorKind::kIo;
  if (errno_value == ENOENT) kind = ErrorKind::kNotFound;
  if (errno_value == EEXIST) kind = ErrorKind::kConflict;
  std::string text(what);
  text.append(": ").append(std::generic_category().message(errno_value));
  return Error(kind, std::move(text));
}

}  // namespace berth
