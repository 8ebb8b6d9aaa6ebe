// What became of a request that got no usable answer.
//
// The delivery is what decides between "nothing happened" and "not known": it is established from
// what was handed to the kernel, never from how likely something is. Values; any thread.
#ifndef BERTH_PLUGINS_HTTP_DELIVERY_H_
#define BERTH_PLUGINS_HTTP_DELIVERY_H_

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "berth/outcome.hpp"

namespace berth::http {

enum class Delivery {
  kNotSent,   // no byte of the request left this process: the service cannot have acted
  kAnswered,  // the head of an answer arrived; what is wrong is in or after it
  kUnknown,   // some of it was sent and no answer came: the service may have acted
};

enum class Reason {
  kInvalid,    // the request itself cannot be made
  kResolve,    // the host has no address
  kConnect,    // no connection: refused, unreachable, took too long
  kProxy,      // the proxy did not connect
  kTls,        // no trusted connection: certificate, host name, protocol version
  kTimeout,    // the deadline passed
  kCancelled,  // the coroutine was cancelled
  kClosed,     // the connection ended too early
  kProtocol,   // the answer is not what it has to be
  kTooLarge,   // the answer exceeds a bound
  kRedirect,   // it leads where it may not, or in a circle
};

// No answer, or one that broke off. Its message names host and path, never a query, a header or a
// body.
class TransportFailure : public std::exception {
 public:
  TransportFailure(Reason reason, Delivery delivery, std::string message)
      : reason_(reason), delivery_(delivery), message_(std::move(message)) {}

  Reason reason() const noexcept { return reason_; }
  Delivery delivery() const noexcept { return delivery_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Reason reason_;
  Delivery delivery_;
  std::string message_;
};

std::string_view to_string(Delivery delivery);
std::string_view to_string(Reason reason);

Code code_of(Reason reason);

// As the outcome of an operation whose only effect on the service would have been this request:
// REJECTED when it provably was not sent, else UNCERTAIN.
Failure failure_of(const TransportFailure& failure);

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_DELIVERY_H_
