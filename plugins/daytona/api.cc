#include "plugins/daytona/api.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <cstdio>

#include "plugins/http/json_fields.h"
#include "plugins/http/retry_after.h"

namespace berth::daytona {
namespace {

namespace json = boost::json;
using http::text_field;

constexpr std::size_t kAnswerBytesMax = 8 * 1024 * 1024;  // a page of a hundred sandboxes
constexpr std::size_t kDepthMax = 32;
constexpr std::size_t kMessageBytesMax = 500;
// Answers have the shape of this version of the service's own client.
constexpr std::string_view kSdkVersion = "0.218.0";

// "2026-11-30T09:41:02.123Z" as milliseconds; 0 when it is anything else.
std::uint64_t unix_ms(const std::string& time) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, used = 0;
  if (std::sscanf(time.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) != 6)
    return 0;
  const std::chrono::year_month_day date{std::chrono::year(y),
                                         std::chrono::month(static_cast<unsigned>(mo)),
                                         std::chrono::day(static_cast<unsigned>(d))};
  if (!date.ok() || y < 1970) return 0;
  const auto at = std::chrono::sys_days(date) + std::chrono::hours(h) + std::chrono::minutes(mi) +
                  std::chrono::seconds(s);
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count());
}

json::value parse(const std::string& body) {
  json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code wrong;
  json::value value = json::parse(body, wrong, {}, options);
  return wrong ? json::value() : value;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The throttlers of the service have fields of their own: Retry-After-sandbox-create and the like.
std::optional<std::chrono::milliseconds> retry_after_of(const http::Headers& headers) {
  constexpr std::string_view kPrefix = "retry-after";
  std::optional<std::chrono::milliseconds> longest;
  for (const http::Header& field : headers.all()) {
    if (field.name.size() < kPrefix.size() ||
        !http::same_name(field.name.substr(0, kPrefix.size()), kPrefix))
      continue;
    const auto wait = http::retry_after(field.value, std::chrono::system_clock::now());
    if (wait && (!longest || *wait > *longest)) longest = wait;
  }
  return longest;
}

}  // namespace

Phase phase_of(const Sandbox& sandbox) {
  const std::string& state = sandbox.state;
  if (state == "destroyed") return Phase::kGone;
  if (state == "destroying" || sandbox.desired_state == "destroyed") return Phase::kEnding;
  if (state == "started") return Phase::kReady;
  if (state == "error" || state == "build_failed") return Phase::kBroken;
  for (const std::string_view stopped :
       {"stopped", "stopping", "archived", "archiving", "paused", "pausing"})
    if (state == stopped) return Phase::kStopped;
  for (const std::string_view starting : {"creating", "restoring", "starting", "pending_build",
                                          "building_snapshot", "pulling_snapshot", "resuming"})
    if (state == starting) return Phase::kStarting;
  // What is not known may become anything, so it is waited for like one that starts.
  return Phase::kUnknown;
}

SandboxState state_of(const Sandbox& sandbox) {
  switch (phase_of(sandbox)) {
    case Phase::kStarting:
      return SandboxState::kStarting;
    case Phase::kReady:
      return SandboxState::kReady;
    case Phase::kStopped:
      return SandboxState::kStopped;
    case Phase::kBroken:
      return SandboxState::kBroken;
    case Phase::kEnding:
    case Phase::kGone:
    case Phase::kUnknown:
      return SandboxState::kUnknown;
  }
  return SandboxState::kUnknown;
}

std::optional<Sandbox> sandbox_of(const json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return std::nullopt;
  Sandbox out;
  out.id = text_field(*object, "id");
  out.name = text_field(*object, "name");
  out.organization = text_field(*object, "organizationId");
  out.state = text_field(*object, "state");
  out.desired_state = text_field(*object, "desiredState");
  out.error_reason = text_field(*object, "errorReason");
  out.toolbox = text_field(*object, "toolboxProxyUrl");
  out.created_unix_ms = unix_ms(text_field(*object, "createdAt"));
  if (const auto* labels = object->if_contains("labels"); labels != nullptr && labels->is_object())
    out.labelled_name = text_field(labels->get_object(), kNameLabel);
  if (out.id.empty() || out.name.empty() || out.organization.empty()) return std::nullopt;
  return out;
}

Code code_of(const Answer& answer) {
  switch (answer.status) {
    case 400:
      for (const char* quota : {"limit exceeded", "exceeds maximum", "quota", "Quota"})
        if (contains(answer.message, quota)) return Code::kQuota;
      return Code::kInvalidArgument;
    case 401:
      return Code::kUnauthenticated;
    case 402:
      return Code::kQuota;
    case 403:
      return Code::kPermission;
    case 404:
    case 410:
      return Code::kNotFound;
    case 408:
      return Code::kTimeout;
    case 409:
      return Code::kConflict;
    case 413:
      return Code::kQuota;
    case 422:
      return Code::kUnsupported;
    case 429:
      return Code::kRateLimited;
    case 500:
      return Code::kInternal;
    default:
      return answer.status >= 500 ? Code::kUnavailable : Code::kInternal;
  }
}

std::string sentence(const Answer& answer) {
  return answer.what + " answered " + std::to_string(answer.status) + ": " + answer.message;
}

Failure failure_of(const Answer& answer) {
  // 408 is a time-out of something that may have begun.
  const bool refused = answer.status / 100 == 4 && answer.status != 408;
  Failure failure = refused ? Failure::rejected(code_of(answer), sentence(answer))
                            : Failure::uncertain(code_of(answer), sentence(answer));
  if (!answer.retry_after) return failure;
  return std::move(failure).retry_after(*answer.retry_after);
}

bool is_state_change(const Answer& answer) {
  if (answer.status == 409) return true;
  return (answer.status == 400 || answer.status == 500) &&
         (contains(answer.message, "state change in progress") ||
          contains(answer.message, "not in a valid state"));
}

Api::Api(boost::asio::any_io_executor executor, const Settings& settings)
    : executor_(executor), settings_(settings), client_(executor, [&] {
        http::ClientOptions options;
        options.user_agent = "berth-daytona/0.1";
        options.trust_file = settings.trust_file;
        options.proxy = settings.proxy;
        return options;
      }()) {
  redact_.add(settings_.api_key);
  if (settings_.proxy.proxy()) redact_.add(settings_.proxy.proxy()->authorization);
}

http::Request Api::request(Method method, Url url, Clock::time_point deadline) const {
  http::Request out;
  out.method = method;
  out.url = std::move(url);
  out.deadline = deadline;
  out.headers.add("Accept", "application/json");
  out.headers.add("X-Daytona-Source", "berth");
  out.headers.add("X-Daytona-SDK-Version", kSdkVersion);
  out.credentials.add("Authorization", "Bearer " + settings_.api_key.reveal());
  return out;
}

std::string Api::redacted(std::string_view text) const {
  std::string out = redact_(text.substr(0, 4 * kMessageBytesMax));
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return std::string(detail::utf8_prefix(out, kMessageBytesMax));
}

Awaitable<Answer> Api::read(http::Reply& reply, const std::string& what) const {
  Answer answer;
  answer.status = reply.status();
  answer.what = what;
  const std::string body = co_await reply.text(kAnswerBytesMax);
  answer.body = parse(body);
  answer.retry_after = retry_after_of(reply.headers());
  if (answer.ok()) co_return answer;
  if (const auto* object = answer.body.if_object()) {
    answer.message = redacted(text_field(*object, "message"));
    if (answer.message.empty()) answer.message = redacted(text_field(*object, "error"));
    answer.code = redacted(text_field(*object, "code"));
    answer.source = text_field(*object, "source");
  }
  // A page of some proxy in between says nothing to people who read one line.
  if (answer.message.empty())
    answer.message = body.empty() ? "nothing was said about it"
                                  : "the answer is not of the service (" +
                                        redacted(http::media_type(reply.headers())) + ")";
  co_return answer;
}

Awaitable<Answer> Api::call(Method method, const Url& url, std::string_view json,
                            Clock::time_point deadline, http::Repeat repeat) {
  http::Request sent = request(method, url, deadline);
  sent.repeat = repeat;
  if (!json.empty()) {
    sent.headers.add("Content-Type", "application/json");
    sent.body = json;
  }
  std::string what = std::string(http::to_string(method)) + " " + sent.url.shown();
  http::Reply reply = co_await client_.send(sent);
  co_return co_await read(reply, what);
}

void Api::remember(const Sandbox& sandbox) {
  if (sandbox.toolbox.empty()) return;
  if (toolboxes_.size() >= kToolboxesMax) toolboxes_.erase(toolboxes_.begin());
  toolboxes_[sandbox.id] = sandbox.toolbox;
}

Awaitable<Url> Api::toolbox(std::string id, Clock::time_point deadline) {
  auto known = toolboxes_.find(id);
  if (known == toolboxes_.end()) {
    const Url url = sandbox(id);
    const Answer answer = co_await call(Method::kGet, url, kNoBody, deadline);
    const auto found = answer.ok() ? sandbox_of(answer.body) : std::nullopt;
    if (!answer.ok()) throw failure_of(answer);
    if (!found) throw Failure::uncertain(Code::kInternal, answer.what + " described no sandbox");
    Sandbox described = *found;
    if (described.toolbox.empty()) {
      const Url proxy = url / "toolbox-proxy-url";
      const Answer asked = co_await call(Method::kGet, proxy, kNoBody, deadline);
      if (!asked.ok()) throw failure_of(asked);
      if (const auto* object = asked.body.if_object())
        described.toolbox = text_field(*object, "url");
    }
    remember(described);
    known = toolboxes_.find(id);
    if (known == toolboxes_.end())
      throw Failure::uncertain(Code::kInternal, "the service does not say where the toolbox is");
  }
  try {
    co_return Url::parse(known->second) / id;
  } catch (const http::UrlError& error) {
    throw Failure::uncertain(
        Code::kInternal, std::string("the address of the toolbox cannot be used: ") + error.what());
  }
}

Awaitable<void> Api::sleep(std::chrono::milliseconds time) const {
  boost::asio::steady_timer timer(executor_, time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

Clock::time_point until(const OperationBase& operation, std::chrono::milliseconds time) {
  const auto own = Clock::now() + time;
  const auto deadline = operation.deadline();
  if (!deadline) return own;
  return std::min(own, Clock::time_point(std::chrono::duration_cast<Clock::duration>(*deadline)));
}

}  // namespace berth::daytona
