#include "plugins/daytona/run.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "berth_daytona_parts_texts.h"
#include "plugins/daytona/files.h"
#include "plugins/daytona/frames.h"
#include "plugins/http/json_fields.h"
#include "plugins/http/websocket.h"

namespace berth::daytona {
namespace {

namespace json = boost::json;
using http::text_field;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kSessionEndPatience{5};
constexpr seconds kTimeoutMargin{5};       // for the runner to end a program whose time is over
constexpr milliseconds kSocketAfter{250};  // a command that lasts is followed, not asked for
constexpr int kFailuresMax = 8;  // in a row, before it is asked what became of the sandbox
constexpr std::size_t kInputBytes = 24 * 1024;
constexpr int kFeedAttempts = 4;
constexpr int kLastReadings = 3;  // of the log once the command has exited

std::string without_comments(std::string_view program) {
  std::string out;
  while (!program.empty()) {
    const auto end = std::min(program.find('\n'), program.size() - 1);
    const std::string_view line = program.substr(0, end + 1);
    const auto first = line.find_first_not_of(" \n");
    if (first != std::string_view::npos && line[first] != '#') out += line;
    program.remove_prefix(end + 1);
  }
  return out;
}

// Within the quotes of a JSON string.
std::string escaped(std::string_view text) {
  const std::string whole = json::serialize(json::value(json::string_view(text.data(), text.size())));
  return whole.substr(1, whole.size() - 2);
}

}  // namespace

std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out.push_back(c);
  }
  return out + "'";
}

// One command under way.
struct Runner::Running {
  std::string ref;
  Url toolbox;
  Url session;
  Url command;
  FrameReader frames;
  Clock::time_point began = Clock::now();
  Clock::time_point give_up = http::kNever;  // the program's own time, and some
  bool limited[2] = {false, false};          // the host keeps no more of this stream
  bool started = false;                      // there may be a session
  bool feeding_failed = false;               // the program waits for input that does not come
  int failures = 0;                          // in a row
  std::string why;                           // of the last one
};

Runner::Runner(Api& api)
    : api_(api),
      begin_("{\"runAsync\":true,\"suppressInputEcho\":true,\"command\":\"" +
             escaped("python3 -I -S -c " + quoted(without_comments(runner_py)))) {}

std::string Runner::exec_body(const Command& command) const {
  const bool has_input = command.stdin_source == StdinSource::kInput;
  const auto limit = std::chrono::duration<double>(command.timeout).count();
  std::string line;
  const auto add = [&line](std::string_view word) { line += " " + quoted(word); };
  add(std::to_string(limit));
  add(command.cwd);
  add(has_input ? "-" : "");
  add(std::to_string(command.stdout_cap_bytes));
  add(std::to_string(command.stderr_cap_bytes));
  add(std::to_string(command.env.size()));
  for (const PairView& pair : command.env)
    add(std::string(pair.key) + "=" + std::string(pair.value));
  for (const std::string_view word : command.argv) add(word);
  // The session's shell reads its own commands from where a program would read its input.
  if (!has_input) line += " </dev/null";
  std::string body = begin_;
  body += escaped(line);
  body += "\"}";
  return body;
}

Awaitable<void> Runner::start(AsyncOperation& operation, Running& running, const Command& command) {
  const std::string name = fresh_name("berth-");
  running.toolbox = co_await api_.toolbox(running.ref, until(operation, kCallPatience));
  const Url sessions = running.toolbox.with_path("/process/session");
  running.session = sessions / name;
  json::object made;
  made["sessionId"] = name;
  const std::string session_body = json::serialize(made);
  running.started = true;
  const Answer session =
      co_await api_.call(Method::kPost, sessions, session_body, until(operation, kCallPatience),
                         http::Repeat::kAllowed);
  // The name is fresh: a conflict is this very request, sent before.
  if (!session.ok() && session.status != 409) throw failure_of(session);
  const std::string command_body = exec_body(command);
  const Url exec = running.session.with_path("/exec");
  const Answer begun =
      co_await api_.call(Method::kPost, exec, command_body, until(operation, kCallPatience));
  if (!begun.ok()) throw failure_of(begun);
  const auto* object = begun.body.if_object();
  const std::string id = object == nullptr ? std::string() : text_field(*object, "cmdId");
  if (id.empty()) throw Failure::uncertain(Code::kInternal, begun.what + " gave no command");
  running.command = running.session.with_path("/command") / id;
  running.began = Clock::now();
  if (command.timeout.count() > 0)
    running.give_up =
        running.began + std::chrono::ceil<Clock::duration>(command.timeout) + kTimeoutMargin;
}

Awaitable<void> Runner::hand_over(AsyncOperation& operation, Running& running) {
  for (const Piece& piece : running.frames.take()) {
    bool& limited = running.limited[piece.stream == Stream::kStderr ? 1 : 0];
    if (limited) continue;
    const Flow flow = co_await operation.output(piece.stream, piece.bytes);
    if (flow == Flow::kCancelled) throw Operation::cancelled_failure();
    limited = flow == Flow::kLimit;
  }
}

// Reads the whole log once; false when that failed, with the reason kept.
Awaitable<bool> Runner::read_log(AsyncOperation& operation, Running& running) {
  bool cancelled = false;
  try {
    const Url url = running.command.with_path("/logs");
    http::Request sent = api_.request(Method::kGet, url, until(operation, kCallPatience));
    http::Reply reply = co_await api_.client().send(sent);
    if (!reply.ok()) {
      const std::string what = "GET " + url.shown();
      const Answer refused = co_await api_.read(reply, what);
      running.why = sentence(refused);
      co_return false;
    }
    LogText log(http::media_type(reply.headers()) == "application/json");
    running.frames.begin();
    for (;;) {
      const std::string_view piece = co_await reply.next();
      if (piece.empty()) break;
      running.frames.put(log.put(piece));
      co_await hand_over(operation, running);
      // A reader that is behind is no fault of the service.
      reply.expires_at(until(operation, kCallPatience));
    }
    running.failures = 0;
    co_return true;
  } catch (const http::TransportFailure& failure) {
    cancelled = failure.reason() == http::Reason::kCancelled;
    running.why = failure.message();
  } catch (const std::runtime_error& error) {
    running.why = error.what();
  }
  if (cancelled) throw Operation::cancelled_failure();
  co_return false;
}

// Follows the log as it grows. It is only the faster way: whatever breaks, the log is read.
Awaitable<bool> Runner::follow_socket(AsyncOperation& operation, Running& running) {
  bool cancelled = false;
  try {
    Url url = running.command.with_path("/logs").with_query("follow", "true");
    http::Request sent = api_.request(Method::kGet, url, until(operation, kCallPatience));
    http::WebSocketOptions options;
    options.message_bytes_max = 4 * 1024 * 1024;
    http::WebSocket socket = co_await api_.client().open_websocket(sent, options);
    running.frames.begin();
    socket.expires_at(running.give_up);
    for (;;) {
      const http::WebSocketMessage message = co_await socket.read();
      if (message.kind == http::WebSocketMessage::Kind::kClosed) break;
      running.frames.put(without_marks(message.data));
      co_await hand_over(operation, running);
      if (running.frames.end()) co_return true;
    }
  } catch (const http::TransportFailure& failure) {
    cancelled = failure.reason() == http::Reason::kCancelled;
  } catch (const std::runtime_error&) {
  }
  if (cancelled) throw Operation::cancelled_failure();
  co_return running.frames.end().has_value();
}

// Whether the service says that the command is over. What it cannot say is no.
Awaitable<bool> Runner::has_exited(AsyncOperation& operation, Running& running) {
  bool cancelled = false;
  try {
    const Answer answer =
        co_await api_.call(Method::kGet, running.command, kNoBody, until(operation, kCallPatience));
    const auto* object = answer.body.if_object();
    if (answer.ok() && object != nullptr) {
      running.failures = 0;
      const auto* code = object->if_contains("exitCode");
      co_return code != nullptr && code->is_int64();
    }
    running.why = sentence(answer);
    // A session that is not there any more has no command that runs.
    co_return answer.status == 404 && answer.body.is_object();
  } catch (const http::TransportFailure& failure) {
    cancelled = failure.reason() == http::Reason::kCancelled;
    running.why = failure.message();
  }
  if (cancelled) throw Operation::cancelled_failure();
  co_return false;
}

// The command is over, or out of reach, and nobody saw how it ended.
Awaitable<RunResult> Runner::unseen_end(AsyncOperation& operation, Running& running) {
  RunResult lost;
  lost.cause = Cause::kLost;
  const Url url = api_.sandbox(running.ref);
  const Answer answer =
      co_await api_.call(Method::kGet, url, kNoBody, until(operation, kCallPatience));
  const auto sandbox = answer.ok() ? sandbox_of(answer.body) : std::nullopt;
  if (answer.status == 404 && answer.body.is_object()) co_return lost;
  if (sandbox && phase_of(*sandbox) != Phase::kReady && phase_of(*sandbox) != Phase::kUnknown)
    co_return lost;
  throw Failure::uncertain(Code::kUnavailable,
                           "how the command ended was not seen: " +
                               (running.why.empty() ? running.frames.other() : running.why));
}

Awaitable<RunResult> Runner::follow(AsyncOperation& operation, Running& running) {
  milliseconds pause = api_.settings().poll_first;
  int last_readings = 0;
  bool socket_tried = false;
  for (;;) {
    const auto place = running.frames.place();
    const auto before = Clock::now();
    const bool read = co_await read_log(operation, running);
    if (running.frames.end()) co_return *running.frames.end();
    if (!read && ++running.failures >= kFailuresMax)
      co_return co_await unseen_end(operation, running);
    // The exit code can be seen before the log has been written down to its end.
    if (read && running.frames.place() == place) {
      const bool exited = co_await has_exited(operation, running);
      if (exited && ++last_readings >= kLastReadings) {
        if (running.frames.place() == 0 && !running.frames.other().empty())
          throw Failure::uncertain(Code::kUnsupported,
                                   "the command was not begun; python3, which runs it, said: " +
                                       api_.redacted(running.frames.other()));
        co_return co_await unseen_end(operation, running);
      }
    } else if (read) {
      pause = api_.settings().poll_first;
    }
    if (Clock::now() >= running.give_up) {
      RunResult late;
      late.cause = Cause::kWall;
      co_return late;
    }
    if (!socket_tried && read && Clock::now() - running.began >= kSocketAfter) {
      socket_tried = true;
      const bool over = co_await follow_socket(operation, running);
      if (over) co_return *running.frames.end();
      continue;
    }
    // A log is read from its beginning each time: the longer that takes, the rarer it is done.
    const auto took = std::chrono::ceil<milliseconds>(Clock::now() - before);
    co_await api_.sleep(std::max(pause, 3 * took));
    pause = api_.settings().next_pause(pause);
  }
}

// Hands the program its input, piece by piece; returns only when that failed. The runner takes a
// piece that comes twice once, so one that may have arrived is sent again.
Awaitable<void> Runner::feed(AsyncOperation& operation, Running& running) {
  std::vector<char> buffer(kInputBytes);
  const std::span<char> into(buffer);
  const Url url = running.command.with_path("/input");
  bool over = false;
  for (std::uint64_t number = 0; !over; ++number) {
    const std::size_t got = co_await operation.input(into);
    over = got == 0;
    json::object sent;
    sent["data"] = std::to_string(number) + " " +
                   (over ? "." : to_base64(std::string_view(buffer.data(), got)));
    const std::string body = json::serialize(sent);
    for (int failures = 0;; ++failures) {
      std::optional<Answer> answer;
      try {
        answer = co_await api_.call(Method::kPost, url, body, until(operation, kCallPatience),
                                    http::Repeat::kAllowed);
      } catch (const http::TransportFailure& failure) {
        running.why = failure.message();
      }
      // 410: the program ended without taking it.
      if (answer && (answer->ok() || answer->status == 410)) break;
      if (answer) running.why = sentence(*answer);
      running.feeding_failed = failures + 1 >= kFeedAttempts;
      if (running.feeding_failed) co_return;
      co_await api_.sleep(api_.settings().poll_most);
    }
  }
  for (;;) co_await api_.sleep(std::chrono::hours(1));
}

// follow() with its end written down: of two coroutines side by side an exception would be lost.
Awaitable<void> Runner::follow_into(AsyncOperation& operation, Running& running,
                                    std::optional<RunResult>& result, std::exception_ptr& wrong) {
  try {
    result = co_await follow(operation, running);
  } catch (...) {
    wrong = std::current_exception();
  }
}

// Ends whatever the command has left running, with everything that was ever started in it.
Awaitable<void> Runner::end_session(Running& running) {
  if (!running.started) co_return;
  try {
    const Answer answer = co_await api_.call(Method::kDelete, running.session, kNoBody,
                                             Clock::now() + kSessionEndPatience);
    if (answer.ok() || answer.status == 404)
      running.started = false;
    else
      running.why = sentence(answer);
  } catch (const http::TransportFailure& failure) {
    running.why = failure.message();
  }
}

Awaitable<RunResult> Runner::run(AsyncOperation& operation, std::string ref,
                                 const Command& command) {
  if (command.argv.empty())
    throw Failure::rejected(Code::kInvalidArgument, "a command has at least one word");
  if (command.limits)
    throw Failure::rejected(Code::kUnsupported, "Daytona has no limits for a single command");
  Running running;
  running.ref = std::move(ref);
  std::exception_ptr wrong;
  std::optional<RunResult> result;
  try {
    co_await start(operation, running, command);
    if (command.stdin_source == StdinSource::kInput) {
      using namespace boost::asio::experimental::awaitable_operators;
      co_await (follow_into(operation, running, result, wrong) || feed(operation, running));
    } else {
      co_await follow_into(operation, running, result, wrong);
    }
    if (wrong) std::rethrow_exception(std::exchange(wrong, nullptr));
  } catch (const http::TransportFailure& failure) {
    wrong = std::make_exception_ptr(failure.reason() == http::Reason::kCancelled
                                        ? Operation::cancelled_failure()
                                        : http::failure_of(failure));
  } catch (...) {
    wrong = std::current_exception();
  }
  // A coroutine that was cancelled may wait again after this: its program still runs. [CANC-001]
  co_await boost::asio::this_coro::reset_cancellation_state();
  co_await end_session(running);
  if (running.started)
    operation.host().log(LogLevel::kWarn, "a session of sandbox " + running.ref +
                                              " could not be ended: " + running.why);
  if (running.feeding_failed && !result)
    throw Failure::uncertain(Code::kUnavailable,
                             "the program could not be given its input: " + running.why);
  if (wrong) std::rethrow_exception(wrong);
  co_return *result;
}

}  // namespace berth::daytona
