#include "plugins/http/delivery.h"

namespace berth::http {

std::string_view to_string(Delivery delivery) {
  switch (delivery) {
    case Delivery::kNotSent:
      return "it was not sent";
    case Delivery::kAnswered:
      return "it was answered";
    case Delivery::kUnknown:
      return "it is not known whether it arrived";
  }
  return "it is not known whether it arrived";
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kInvalid:
      return "invalid";
    case Reason::kResolve:
      return "resolve";
    case Reason::kConnect:
      return "connect";
    case Reason::kProxy:
      return "proxy";
    case Reason::kTls:
      return "tls";
    case Reason::kTimeout:
      return "timeout";
    case Reason::kCancelled:
      return "cancelled";
    case Reason::kClosed:
      return "closed";
    case Reason::kProtocol:
      return "protocol";
    case Reason::kTooLarge:
      return "too large";
    case Reason::kRedirect:
      return "redirect";
  }
  return "unknown";
}

Code code_of(Reason reason) {
  switch (reason) {
    case Reason::kInvalid:
      return Code::kInvalidArgument;
    case Reason::kTimeout:
      return Code::kTimeout;
    case Reason::kCancelled:
      return Code::kCancelled;
    case Reason::kProtocol:
    case Reason::kTooLarge:
    case Reason::kRedirect:
      return Code::kInternal;
    case Reason::kResolve:
    case Reason::kConnect:
    case Reason::kProxy:
    case Reason::kTls:
    case Reason::kClosed:
      return Code::kUnavailable;
  }
  return Code::kInternal;
}

Failure failure_of(const TransportFailure& failure) {
  const Code code = code_of(failure.reason());
  if (failure.delivery() == Delivery::kNotSent) return Failure::rejected(code, failure.message());
  return Failure::uncertain(code, failure.message());
}

}  // namespace berth::http
