// What an expected failure carries: a kind for programs, a sentence for people.
//
// An Error is a value; it owns its text and may be copied between threads. Messages are lower case,
// without a full stop, name the object and say what to do next.
#ifndef BERTH_CORE_BASE_ERROR_H_
#define BERTH_CORE_BASE_ERROR_H_

#include <string>
#include <string_view>
#include <utility>

namespace berth {

enum class ErrorKind {
  kInvalidArgument,  // the caller's input is wrong; nothing was done
  kNotFound,
  kConflict,         // exists already, or with other content
  kRefused,          // a rule forbids it now
  kUnavailable,      // something needed is missing or down
  kTimeout,
  kCancelled,
  kCorrupt,          // stored or foreign data does not hold together
  kLimit,            // a bound was reached
  kIo,               // the operating system said no
  kUnknownOutcome,   // it may or may not have happened
  kInternal,         // a fault of this program
};

// The stable lower-case word of a kind, as printed in JSON ("invalid_argument").
std::string_view to_string(ErrorKind kind);

class Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  // The same error seen from further out: "<context>: <message>".
  Error with(std::string_view context) const;

 private:
  ErrorKind kind_;
  std::string message_;
};

// An error that carries the text of `errno_value`, for a failed system call on `what`.
Error os_error(int errno_value, std::string_view what);

}  // namespace berth

#endif  // BERTH_CORE_BASE_ERROR_H_
