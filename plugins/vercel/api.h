// Requests to Vercel Sandbox and its answers: bounded, redacted, and read with suspicion.
//
// One thread: the provider's loop. Answers own their text.
#ifndef BERTH_PLUGINS_VERCEL_API_H_
#define BERTH_PLUGINS_VERCEL_API_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/host.hpp"
#include "berth/outcome.hpp"
#include "plugins/http/client.h"
#include "plugins/vercel/config.h"

namespace berth::vercel {

template <class T>
using Awaitable = boost::asio::awaitable<T>;
using http::Clock;
using http::Method;
using http::Url;

// How long a request that only looks may take.
inline constexpr std::chrono::seconds kLookPatience{15};

// What the service said, whole.
struct Answer {
  int status = 0;
  std::string what;         // the request: "POST https://host/path"
  boost::json::value body;  // null when it is not JSON
  bool by_service = false;  // a failure in the service's own words, not of something before it
  std::string code;         // of a failure
  std::string message;      // of a failure, redacted; never empty for one
  std::optional<std::chrono::milliseconds> retry_after;

  bool ok() const { return status / 100 == 2; }
  // The service's own word that there is none. A session that is over is told of with 410.
  bool says_absent() const { return status == 404 && by_service; }
};

Code code_of(const Answer& answer);
// "POST https://host/path answered 409: message".
std::string sentence(const Answer& answer);
// An answer that is no success, as the outcome of an operation: REJECTED where it was refused
// (4xx), else UNCERTAIN.
Failure failure_of(const Answer& answer);

// The outcome of an operation that only had this wait, or these requests that may be repeated.
Failure uncertain(const http::TransportFailure& failure);

class Api {
 public:
  // `host` outlives it: a token that the service refuses is asked for once more.
  Api(boost::asio::any_io_executor executor, const Host& host, Settings settings);

  // One request; any status is an Answer. Throws http::TransportFailure.
  Awaitable<Answer> call(Method method, Url url, std::string json_body, Clock::time_point deadline,
                         http::Repeat repeat = http::Repeat::kByMethod);
  // The same for a body or an answer that is streamed.
  http::Request request(Method method, Url url, Clock::time_point deadline) const;
  Awaitable<Answer> read(http::Reply& reply, std::string what) const;
  // True when there is another token of the same credential than the one that was refused.
  bool has_fresh_token();

  Awaitable<void> sleep(std::chrono::milliseconds time) const;

  const Settings& settings() const { return settings_; }
  http::Client& client() { return client_; }
  std::string redacted(std::string_view text) const;

  Url create_url() const;
  Url sandbox_url(std::string_view name) const;
  Url list_url() const;
  // `rest`: "", "/stop", "/cmd", ...
  Url session_url(std::string_view session, std::string_view rest = {}) const;
  Url command_url(std::string_view session, std::string_view command,
                  std::string_view rest = {}) const;

 private:
  Url with_team(const Url& url) const;

  boost::asio::any_io_executor executor_;
  const Host& host_;
  Settings settings_;
  http::Redactor redact_;
  http::Client client_;
};

// The moment a call may last to: so long from now, but not beyond the operation.
Clock::time_point until(const OperationBase& operation, std::chrono::milliseconds time);

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_API_H_
