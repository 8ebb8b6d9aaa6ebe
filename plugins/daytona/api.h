// Requests to Daytona and its answers as types: bounded, redacted, and read with suspicion.
//
// One thread: the provider's loop. Answers own their text.
#ifndef BERTH_PLUGINS_DAYTONA_API_H_
#define BERTH_PLUGINS_DAYTONA_API_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/host.hpp"
#include "berth/outcome.hpp"
#include "plugins/daytona/config.h"
#include "plugins/http/client.h"

namespace berth::daytona {

template <class T>
using Awaitable = boost::asio::awaitable<T>;
using http::Clock;
using http::Method;
using http::Url;

// How long one request may take where it has no better bound.
inline constexpr std::chrono::seconds kCallPatience{30};

// What the service said, whole.
struct Answer {
  int status = 0;
  std::string what;         // the request: "POST https://host/path"
  boost::json::value body;  // null when it is not JSON
  std::string message;      // of an error, redacted; never empty for one
  std::string code;         // of the toolbox
  std::string source;       // who refused: DAYTONA_DAEMON, DAYTONA_PROXY, ...
  std::optional<std::chrono::milliseconds> retry_after;

  bool ok() const { return status / 100 == 2; }
};

// A sandbox as the service describes it.
struct Sandbox {
  std::string id;
  std::string name;
  std::string organization;
  std::string state;  // as the service writes it; new ones come up
  std::string desired_state;
  std::string error_reason;
  std::string toolbox;
  std::string labelled_name;  // of the label kNameLabel
  std::uint64_t created_unix_ms = 0;
};

inline constexpr std::string_view kOwnerLabel = "berth-owner";
inline constexpr std::string_view kNameLabel = "berth-name";

enum class Phase { kStarting, kReady, kStopped, kBroken, kEnding, kGone, kUnknown };
Phase phase_of(const Sandbox& sandbox);
SandboxState state_of(const Sandbox& sandbox);

// Nothing when what is needed is missing: then it is not an answer to go by.
std::optional<Sandbox> sandbox_of(const boost::json::value& value);

Code code_of(const Answer& answer);
// "POST https://host/path answered 409: message".
std::string sentence(const Answer& answer);
// An answer that is no success, as the outcome of an operation: REJECTED where the service says
// that it refused (4xx), else UNCERTAIN.
Failure failure_of(const Answer& answer);
// The sandbox is changing its state just now: both spellings.
bool is_state_change(const Answer& answer);

inline constexpr std::string_view kNoBody;

class Api {
 public:
  Api(boost::asio::any_io_executor executor, const Settings& settings);

  // One request with a body of JSON, or none; any status is an Answer. Throws
  // http::TransportFailure. The arguments outlive the call.
  Awaitable<Answer> call(Method method, const Url& url, std::string_view json,
                         Clock::time_point deadline, http::Repeat repeat = http::Repeat::kByMethod);
  // The same for a body or an answer that is streamed.
  http::Request request(Method method, Url url, Clock::time_point deadline) const;
  Awaitable<Answer> read(http::Reply& reply, const std::string& what) const;

  // The toolbox of a sandbox: `<toolboxProxyUrl>/<id>`, asked for when it is not known.
  Awaitable<Url> toolbox(std::string id, Clock::time_point deadline);
  void remember(const Sandbox& sandbox);

  Awaitable<void> sleep(std::chrono::milliseconds time) const;

  const Settings& settings() const { return settings_; }
  http::Client& client() { return client_; }
  Url sandboxes() const { return settings_.api / "sandbox"; }
  Url sandbox(std::string_view id_or_name) const { return sandboxes() / id_or_name; }
  std::string redacted(std::string_view text) const;

 private:
  static constexpr std::size_t kToolboxesMax = 8192;

  boost::asio::any_io_executor executor_;
  Settings settings_;
  http::Redactor redact_;
  http::Client client_;
  std::map<std::string, std::string, std::less<>> toolboxes_;  // by sandbox
};

// The moment a call may last to: so long from now, but not beyond the operation.
Clock::time_point until(const OperationBase& operation, std::chrono::milliseconds time);

}  // namespace berth::daytona

#endif  // BERTH_PLUGINS_DAYTONA_API_H_
