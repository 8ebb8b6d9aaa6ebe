#include "plugins/vercel/commands.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "plugins/vercel/model.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kShellPatience{60};
constexpr seconds kChangePatience{300};  // of a session that is stopping or being snapshotted
constexpr seconds kRetryAfterMost{20};
constexpr int kRepeatsMax = 3;  // of what the service did not take
constexpr std::size_t kSaidBytesMax = 64 * 1024;

bool is_transition(const Answer& answer) {
  return answer.status == 422 &&
         (answer.code == "sandbox_stopping" || answer.code == "sandbox_snapshotting");
}

std::optional<std::int64_t> exit_code_of(const json::object& command) {
  const auto* code = command.if_contains("exitCode");
  if (code == nullptr || !code->is_number()) return std::nullopt;
  boost::system::error_code wrong;
  const auto value = code->to_number<std::int64_t>(wrong);
  return wrong ? std::nullopt : std::optional<std::int64_t>(value);
}

}  // namespace

void EventReader::put(std::string_view bytes) {
  lines_.put(bytes, [this](std::string_view text) { line(text); });
}

void EventReader::end() {
  lines_.end([this](std::string_view text) { line(text); });
}

void EventReader::line(std::string_view text) {
  boost::system::error_code wrong;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), wrong);
  const auto* object = wrong ? nullptr : value.if_object();
  if (object == nullptr) return;
  Event event;
  if (const auto* command = object_of(value, "command")) {
    event.id = text_of(*command, "id");
    event.exit_code = exit_code_of(*command);
    event.duration_ms = number_of(*command, "durationMs");
    events_.push_back(std::move(event));
    return;
  }
  const std::string stream = text_of(*object, "stream");
  if (stream == "stdout" || stream == "stderr") {
    event.kind = Event::Kind::kOutput;
    event.stream = stream == "stdout" ? Stream::kStdout : Stream::kStderr;
    event.data = text_of(*object, "data");
    events_.push_back(std::move(event));
  } else if (stream == "error") {
    event.kind = Event::Kind::kError;
    if (const auto* data = object_of(value, "data")) {
      event.code = text_of(*data, "code");
      event.message = text_of(*data, "message");
    }
    events_.push_back(std::move(event));
  }
}

// Somebody else's snapshot, or its end: there is nothing to be done but to wait.
Awaitable<void> Commands::until_changed(AsyncOperation& operation, std::string session) {
  const auto end = until(operation, kChangePatience);
  milliseconds pause = api_.settings().poll_first;
  while (Clock::now() + pause < end) {
    co_await api_.sleep(pause);
    pause = api_.settings().next_pause(pause);
    const Url url = api_.session_url(session);
    const Answer answer =
        co_await api_.call(Method::kGet, url, std::string(), until(operation, kLookPatience));
    const auto seen = answer.ok() ? session_of(answer.body) : std::nullopt;
    if (!seen && answer.status != 429 && answer.status / 100 != 5) co_return;
    if (seen && phase_of(seen->status) != Phase::kEnding &&
        phase_of(seen->status) != Phase::kUnknown)
      co_return;
  }
}

Awaitable<http::Reply> Commands::begin(AsyncOperation& operation, std::string session,
                                       std::string body, Clock::time_point deadline) {
  bool waited = false;
  bool renewed = false;
  for (int repeats = 0;; ++repeats) {
    http::Request sent = api_.request(Method::kPost, api_.session_url(session, "/cmd"), deadline);
    sent.headers.add("Content-Type", "application/json");
    sent.body = body;
    std::string what = "POST " + sent.url.shown();
    http::Reply reply = co_await api_.client().send(sent);
    const std::string type = http::media_type(reply.headers());
    if (reply.ok() && type == "application/x-ndjson") co_return reply;
    const Answer refused = co_await api_.read(reply, std::move(what));
    if (refused.ok())
      throw Failure::uncertain(Code::kInternal, refused.what + " answered with " +
                                                    api_.redacted(type) + ", not with a stream");
    const bool may_repeat = repeats < kRepeatsMax && !operation.cancelled();
    if (may_repeat && is_transition(refused) && !waited) {
      waited = true;
      co_await until_changed(operation, session);
      continue;
    }
    if (may_repeat && (refused.status == 401 || refused.status == 403) && !renewed) {
      renewed = true;
      if (api_.has_fresh_token()) continue;
    }
    if (may_repeat && refused.status == 429 && refused.by_service) {
      const auto wait = refused.retry_after.value_or(seconds(1));
      if (wait <= kRetryAfterMost && Clock::now() + wait < until(operation, kChangePatience)) {
        co_await api_.sleep(wait);
        continue;
      }
    }
    throw failure_of(refused);
  }
}

Awaitable<Said> Commands::shell(AsyncOperation& operation, std::string session, std::string script,
                                std::vector<std::string> arguments) {
  json::array words{"-c", json::string_view(script.data(), script.size()), "sh"};
  for (const std::string& argument : arguments) words.emplace_back(argument);
  json::object asked;
  asked["command"] = "sh";
  asked["args"] = std::move(words);
  asked["env"] = {{"LC_ALL", "C"}};
  asked["sudo"] = false;
  asked["wait"] = true;
  asked["logs"] = true;
  asked["timeout"] = milliseconds(kShellPatience).count();
  const std::string body = json::serialize(asked);
  http::Reply reply =
      co_await begin(operation, session, body, until(operation, kShellPatience + seconds(5)));
  EventReader reader;
  Said said;
  bool ended = false;
  for (bool more = true; more;) {
    const std::string_view piece = co_await reply.next();
    more = !piece.empty();
    if (more)
      reader.put(piece);
    else
      reader.end();
    for (const Event& event : reader.take()) {
      std::string& text = event.stream == Stream::kStdout ? said.out : said.err;
      if (event.kind == Event::Kind::kOutput && text.size() < kSaidBytesMax) text += event.data;
      if (event.kind == Event::Kind::kCommand && event.exit_code) {
        said.exit_code = *event.exit_code;
        ended = true;
      }
    }
  }
  if (!ended)
    throw Failure::uncertain(
        Code::kUnavailable,
        "a short command of the provider's own in session " + session + " ended unseen");
  co_return said;
}

Awaitable<CommandState> Commands::look(std::string session, std::string command,
                                       Clock::time_point deadline) {
  const Url url = api_.command_url(session, command);
  const Answer answer = co_await api_.call(Method::kGet, url, std::string(), deadline);
  CommandState out;
  if (const auto* described = answer.ok() ? object_of(answer.body, "command") : nullptr) {
    const auto code = exit_code_of(*described);
    out.kind = code ? CommandState::Kind::kEnded : CommandState::Kind::kRunning;
    out.exit_code = code.value_or(-1);
    out.duration_ms = number_of(*described, "durationMs");
    co_return out;
  }
  out.why = answer.ok() ? answer.what + " described no command" : sentence(answer);
  if (answer.by_service && (answer.status == 404 || answer.status == 410))
    out.kind = CommandState::Kind::kNoCommand;
  co_return out;
}

Awaitable<std::string> Commands::find(std::string session, std::string word,
                                      Clock::time_point deadline) {
  const Url url = api_.session_url(session, "/cmd");
  const Answer answer = co_await api_.call(Method::kGet, url, std::string(), deadline);
  const auto* body = answer.body.if_object();
  const auto* commands = body == nullptr ? nullptr : body->if_contains("commands");
  if (!answer.ok() || commands == nullptr || !commands->is_array()) co_return std::string();
  for (const json::value& each : commands->get_array()) {
    const auto* command = each.if_object();
    const auto* words = command == nullptr ? nullptr : command->if_contains("args");
    if (words == nullptr || !words->is_array()) continue;
    for (const json::value& one : words->get_array())
      if (one.is_string() && std::string_view(one.get_string()) == word)
        co_return text_of(*command, "id");
  }
  co_return std::string();
}

Awaitable<void> Commands::kill(std::string session, std::string command, int signal,
                               Clock::time_point deadline) {
  json::object asked;
  asked["signal"] = signal;
  const std::string body = json::serialize(asked);
  const Url url = api_.command_url(session, command, "/kill");
  co_await api_.call(Method::kPost, url, body, deadline, http::Repeat::kAllowed);
}

Awaitable<std::optional<bool>> Commands::session_is_over(std::string session,
                                                         Clock::time_point deadline) {
  const Url url = api_.session_url(session);
  const Answer answer = co_await api_.call(Method::kGet, url, std::string(), deadline);
  if (answer.by_service && (answer.status == 404 || answer.status == 410)) co_return true;
  const auto seen = answer.ok() ? session_of(answer.body) : std::nullopt;
  if (!seen || phase_of(seen->status) == Phase::kUnknown) co_return std::nullopt;
  const Phase phase = phase_of(seen->status);
  co_return is_terminal(phase) || phase == Phase::kEnding;
}

}  // namespace berth::vercel
