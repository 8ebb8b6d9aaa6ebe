#include "plugins/vercel/api.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>

#include "plugins/http/retry_after.h"
#include "plugins/vercel/model.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;

constexpr std::size_t kAnswerBytesMax = 4 * 1024 * 1024;  // a page of fifty sandboxes
constexpr std::size_t kDepthMax = 32;
constexpr std::size_t kMessageBytesMax = 500;
constexpr std::uint64_t kTokenMarginS = 60;

json::value parse(const std::string& body) {
  json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code wrong;
  json::value value = json::parse(body, wrong, {}, options);
  return wrong ? json::value() : value;
}

std::uint64_t unix_s() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

Code code_of(const Answer& answer) {
  switch (answer.status) {
    case 400:
      return Code::kInvalidArgument;
    case 401:
      return Code::kUnauthenticated;
    case 402:
    case 413:
      return Code::kQuota;
    case 403:
      return Code::kPermission;
    case 404:
    case 410:
      return Code::kNotFound;
    case 408:
      return Code::kTimeout;
    case 409:
    case 422:
      return Code::kConflict;
    case 429:
      return Code::kRateLimited;
    case 500:
      return Code::kInternal;
    default:
      return answer.status >= 500 ? Code::kUnavailable : Code::kInternal;
  }
}

std::string sentence(const Answer& answer) {
  std::string out = answer.what + " answered " + std::to_string(answer.status);
  if (!answer.code.empty()) out += " (" + answer.code + ")";
  return out + ": " + answer.message;
}

Failure failure_of(const Answer& answer) {
  // 408 is a time-out of something that may have begun.
  const bool refused = answer.status / 100 == 4 && answer.status != 408;
  Failure failure = refused ? Failure::rejected(code_of(answer), sentence(answer))
                            : Failure::uncertain(code_of(answer), sentence(answer));
  if (!answer.retry_after) return failure;
  return std::move(failure).retry_after(*answer.retry_after);
}

Failure uncertain(const http::TransportFailure& failure) {
  if (failure.reason() == http::Reason::kCancelled) return Operation::cancelled_failure();
  return Failure::uncertain(http::code_of(failure.reason()), failure.message());
}

Api::Api(boost::asio::any_io_executor executor, const Host& host, Settings settings)
    : executor_(executor), host_(host), settings_(std::move(settings)), client_(executor, [&] {
        http::ClientOptions options;
        options.user_agent = "berth-vercel/0.1";
        options.trust_file = settings_.trust_file;
        options.proxy = settings_.proxy;
        return options;
      }()) {
  redact_.add(settings_.identity.token);
  if (settings_.proxy.proxy()) redact_.add(settings_.proxy.proxy()->authorization);
}

bool Api::has_fresh_token() {
  try {
    Identity now = read_identity(host_);
    // Another key is not followed: names and allocations are tied to the one they began with.
    if (!now.same_scope(settings_.identity) ||
        now.token.reveal() == settings_.identity.token.reveal())
      return false;
    redact_.add(now.token);
    settings_.identity = std::move(now);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

http::Request Api::request(Method method, Url url, Clock::time_point deadline) const {
  http::Request out;
  out.method = method;
  out.url = std::move(url);
  out.deadline = deadline;
  out.headers.add("Accept", "*/*");
  out.credentials.add("Authorization", "Bearer " + settings_.identity.token.reveal());
  return out;
}

std::string Api::redacted(std::string_view text) const {
  std::string out = redact_(text.substr(0, 4 * kMessageBytesMax));
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return std::string(detail::utf8_prefix(out, kMessageBytesMax));
}

Awaitable<Answer> Api::read(http::Reply& reply, std::string what) const {
  Answer answer;
  answer.status = reply.status();
  answer.what = std::move(what);
  const std::string body = co_await reply.text(kAnswerBytesMax);
  answer.body = parse(body);
  if (const auto value = reply.headers().find("Retry-After"))
    answer.retry_after = http::retry_after(*value, std::chrono::system_clock::now());
  const auto* error = object_of(answer.body, "error");
  if (error != nullptr) {
    answer.by_service = true;
    answer.code = redacted(text_of(*error, "code"));
    answer.message = redacted(text_of(*error, "message"));
    // Once an error came with a success, and was taken for what had been asked for.
    if (answer.ok()) answer.status = 500;
  }
  if (answer.ok() || !answer.message.empty()) co_return answer;
  // A page of some proxy in between says nothing to people who read one line.
  answer.message = body.empty() ? "nothing was said about it"
                                : "the answer is not of the service (" +
                                      redacted(http::media_type(reply.headers())) + ")";
  co_return answer;
}

Awaitable<Answer> Api::call(Method method, Url url, std::string json_body,
                            Clock::time_point deadline, http::Repeat repeat) {
  const std::uint64_t expires = settings_.identity.expires_unix_s;
  if (expires != 0 && unix_s() + kTokenMarginS >= expires) has_fresh_token();
  for (bool again = false;; again = true) {
    http::Request sent = request(method, url, deadline);
    sent.repeat = repeat;
    sent.headers.add("Content-Type", "application/json");
    sent.body = json_body;
    std::string what = std::string(http::to_string(method)) + " " + sent.url.shown();
    http::Reply reply = co_await client_.send(sent);
    Answer answer = co_await read(reply, std::move(what));
    const bool refused = answer.status == 401 || answer.status == 403;
    if (!refused || again || !has_fresh_token()) co_return answer;
  }
}

Awaitable<void> Api::sleep(std::chrono::milliseconds time) const {
  boost::asio::steady_timer timer(executor_, time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

Url Api::with_team(const Url& url) const {
  return url.with_query("teamId", settings_.identity.team);
}

Url Api::create_url() const { return with_team(settings_.api.with_path("/v3/sandboxes")); }

Url Api::sandbox_url(std::string_view name) const {
  return with_team(settings_.api.with_path("/v2/sandboxes") / name)
      .with_query("projectId", settings_.identity.project);
}

Url Api::list_url() const {
  return with_team(settings_.api.with_path("/v2/sandboxes"))
      .with_query("project", settings_.identity.project);
}

Url Api::session_url(std::string_view session, std::string_view rest) const {
  Url url = settings_.api.with_path("/v2/sandboxes/sessions") / session;
  if (!rest.empty()) url = url.with_path(rest);
  return with_team(url);
}

Url Api::command_url(std::string_view session, std::string_view command,
                     std::string_view rest) const {
  Url url =
      (settings_.api.with_path("/v2/sandboxes/sessions") / session).with_path("/cmd") / command;
  if (!rest.empty()) url = url.with_path(rest);
  return with_team(url);
}

Clock::time_point until(const OperationBase& operation, std::chrono::milliseconds time) {
  const auto own = Clock::now() + time;
  const auto deadline = operation.deadline();
  if (!deadline) return own;
  return std::min(own, Clock::time_point(std::chrono::duration_cast<Clock::duration>(*deadline)));
}

}  // namespace berth::vercel
