#include "plugins/vercel/run.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "berth_vercel_parts_texts.h"
#include "plugins/http/json_fields.h"
#include "plugins/vercel/encoding.h"
#include "plugins/vercel/runner_output.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;
using http::view;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kSilenceMost{60};        // of a stream, before it is asked whether it still lives
constexpr seconds kTimeoutMargin{15};      // for a runner to end a program whose time is over
constexpr seconds kAbandonedPatience{10};  // for ending one whose caller has gone
constexpr std::size_t kSpecPart = 60'000;  // one variable has at most 128 KiB
constexpr int kFailuresMax = 8;            // in a row
constexpr int kLastReadings = 4;           // of the log once the command has ended
constexpr int kSigTerm = 15, kSigKill = 9;
constexpr std::size_t kInputBytes = 256 * 1024;  // of one part of the input
constexpr int kFeedAttempts = 4;

constexpr std::string_view kNoInterpreter = "berth: neither python3 nor node is on the PATH";
// $0: runner.py, $1: runner.cjs.
constexpr std::string_view kStart =
    "command -v python3 >/dev/null 2>&1 && exec python3 -I -S -c \"$0\"; "
    "command -v node >/dev/null 2>&1 && exec node -e \"$1\"; "
    "echo 'berth: neither python3 nor node is on the PATH' >&2; exit 127";

std::string without_comments(std::string_view program, std::string_view comment) {
  std::string out;
  while (!program.empty()) {
    const auto end = std::min(program.find('\n'), program.size() - 1);
    const std::string_view line = program.substr(0, end + 1);
    const auto first = line.find_first_not_of(" \n");
    if (first != std::string_view::npos && !line.substr(first).starts_with(comment)) out += line;
    program.remove_prefix(end + 1);
  }
  return out;
}

std::string spec_of(const Command& command, const std::string& token, const std::string& input) {
  json::array argv, env;
  for (const std::string_view word : command.argv) argv.emplace_back(view(word));
  for (const PairView& pair : command.env)
    env.push_back(json::array{view(pair.key), view(pair.value)});
  json::object spec;
  spec["argv"] = std::move(argv);
  spec["env"] = std::move(env);
  spec["cwd"] = view(command.cwd);
  spec["stdin"] = input;
  spec["token"] = token;
  spec["limit_ms"] = std::chrono::ceil<milliseconds>(command.timeout).count();
  spec["stdout_cap"] = command.stdout_cap_bytes;
  spec["stderr_cap"] = command.stderr_cap_bytes;
  return json::serialize(spec);
}

// What the bodies of all commands begin with: the runners are most of one, and always the same.
std::string begin_of_body() {
  const json::array words{"-c", view(kStart), without_comments(runner_py, "#"),
                          without_comments(runner_cjs, "//")};
  std::string text = json::serialize(words);
  text.back() = ',';
  return R"({"command":"sh","sudo":false,"wait":true,"logs":true,"args":)" + text;
}

}  // namespace

// One command under way.
struct Runner::Running {
  explicit Running(const Command& command)
      : output(command.stdout_cap_bytes, command.stderr_cap_bytes) {}

  std::string session;
  std::string token = fresh_name("");
  std::string id;  // of the command, once the service has told
  RunnerOutput output;
  Clock::time_point give_up = http::kNever;  // the program's own time, and some
  std::uint64_t service_limit_ms = 0;        // when the service itself ends the command
  std::optional<std::int64_t> exit_code;     // of the runner
  std::uint64_t duration_ms = 0;             // with it
  bool limited[2] = {false, false};          // the host keeps no more of this stream
  bool sent = false;                         // there may be a program
  std::string input;                         // the path of what it is given; empty: nothing
  bool feeding_failed = false;               // the program waits for input that does not come
  std::string why;                           // the last thing that went wrong
};

Runner::Runner(Api& api, Commands& commands, Files& files)
    : api_(api),
      commands_(commands),
      files_(files),
      begin_(begin_of_body()) {}

std::string Runner::command_body(const Command& command, const Running& running) const {
  json::object env;
  const std::string spec = spec_of(command, running.token, running.input);
  std::string_view left = spec;
  for (int part = 0; !left.empty(); ++part) {
    const std::string_view piece = detail::utf8_prefix(left, kSpecPart);
    env["BERTH_SPEC_" + std::to_string(part)] = view(piece);
    left.remove_prefix(piece.size());
  }
  // The token among the words is how the command is found when its id was lost.
  std::string body = begin_;
  body += "\"" + running.token + "\"],\"env\":" + json::serialize(env);
  if (command.timeout.count() > 0) {
    const auto limit = std::chrono::ceil<milliseconds>(command.timeout) + milliseconds(kTimeoutMargin);
    body += ",\"timeout\":" + std::to_string(limit.count());
  }
  body += "}";
  return body;
}

Awaitable<void> Runner::hand_over(AsyncOperation& operation, Running& running) {
  for (const Piece& piece : running.output.take()) {
    bool& limited = running.limited[piece.stream == Stream::kStderr ? 1 : 0];
    if (limited) continue;
    const Flow flow = co_await operation.output(piece.stream, piece.bytes);
    if (flow == Flow::kCancelled) throw Operation::cancelled_failure();
    limited = flow == Flow::kLimit;
  }
}

Awaitable<void> Runner::follow(AsyncOperation& operation, Running& running, http::Reply reply) {
  EventReader reader;
  running.output.begin_again();
  for (bool more = true; more;) {
    // A connection can die without a word, so a silence is not waited through for ever.
    reply.expires_at(std::min(running.give_up, until(operation, kSilenceMost)));
    const std::string_view piece = co_await reply.next();
    more = !piece.empty();
    if (more)
      reader.put(piece);
    else
      reader.end();
    for (const Event& event : reader.take()) {
      switch (event.kind) {
        case Event::Kind::kCommand:
          if (running.id.empty()) running.id = event.id;
          if (event.exit_code) {
            running.exit_code = event.exit_code;
            running.duration_ms = event.duration_ms;
          }
          break;
        case Event::Kind::kOutput:
          running.output.put(event.stream, event.data);
          break;
        case Event::Kind::kError:
          running.why = "the stream ended with " + api_.redacted(event.code) + ": " +
                        api_.redacted(event.message);
          break;
      }
    }
    co_await hand_over(operation, running);
  }
  running.output.end_of_streams();
  co_await hand_over(operation, running);
}

Awaitable<void> Runner::read_log(AsyncOperation& operation, Running& running) {
  const Url url = api_.command_url(running.session, running.id, "/logs");
  const http::Request sent = api_.request(Method::kGet, url, until(operation, kLookPatience));
  http::Reply reply = co_await api_.client().send(sent);
  if (!reply.ok() || http::media_type(reply.headers()) != "application/x-ndjson") {
    const Answer refused = co_await api_.read(reply, "GET " + url.shown());
    running.why = refused.ok() ? refused.what + " answered with no stream" : sentence(refused);
    co_return;
  }
  co_await follow(operation, running, std::move(reply));
}

// Nobody saw how the program ended. What is established, and no more, is said of it.
Awaitable<RunResult> Runner::unseen_end(Running& running) {
  RunResult result;
  result.stdout_bytes = running.output.bytes_of(Stream::kStdout);
  result.stderr_bytes = running.output.bytes_of(Stream::kStderr);
  if (running.exit_code) {
    if (*running.exit_code == 127 &&
        running.output.other().find(kNoInterpreter) != std::string::npos)
      throw Failure::rejected(Code::kUnsupported,
                              "the image has neither python3 nor node, one of which runs programs");
    const bool by_service = running.service_limit_ms != 0 && *running.exit_code == 128 + kSigKill &&
                            running.duration_ms >= running.service_limit_ms;
    if (by_service) {
      result.cause = Cause::kWall;
      co_return result;
    }
  }
  const auto over =
      co_await commands_.session_is_over(running.session, Clock::now() + kLookPatience);
  if (over.value_or(false)) {
    // Its time, or somebody, has ended the sandbox with everything in it.
    running.sent = false;
    result.cause = Cause::kLost;
    co_return result;
  }
  std::string message = "how the program ended was not seen";
  if (running.exit_code)
    message += " (its runner ended with " + std::to_string(*running.exit_code) + ")";
  if (!running.why.empty()) message += ": " + running.why;
  if (!running.output.other().empty()) message += ": " + api_.redacted(running.output.other());
  throw Failure::uncertain(Code::kUnavailable, message);
}

Awaitable<RunResult> Runner::recover(AsyncOperation& operation, Running& running) {
  milliseconds pause = api_.settings().poll_first;
  int failures = 0;
  int last_readings = 0;
  while (failures < kFailuresMax && last_readings < kLastReadings) {
    std::optional<http::TransportFailure> failed;
    const std::uint64_t bytes = running.output.bytes();
    const auto deadline = until(operation, kLookPatience);
    try {
      if (running.id.empty())
        running.id = co_await commands_.find(running.session, running.token, deadline);
      if (!running.id.empty()) {
        const CommandState state = co_await commands_.look(running.session, running.id, deadline);
        if (state.kind == CommandState::Kind::kEnded) {
          running.exit_code = state.exit_code;
          running.duration_ms = state.duration_ms;
        } else if (state.kind != CommandState::Kind::kRunning) {
          running.why = state.why;
        }
        if (state.kind == CommandState::Kind::kNoCommand) break;
        // With one that runs the log goes on until it ends.
        co_await read_log(operation, running);
      }
    } catch (const http::TransportFailure& failure) {
      failed = failure;
    }
    if (failed && (failed->reason() == http::Reason::kCancelled || operation.cancelled()))
      throw Operation::cancelled_failure();
    if (failed) running.why = failed->message();
    if (const auto result = running.output.result()) co_return *result;
    const bool moved = running.output.bytes() != bytes;
    if (running.exit_code && !moved) ++last_readings;
    failures = moved ? 0 : failures + 1;
    if (Clock::now() >= running.give_up) {
      RunResult late;
      late.cause = Cause::kWall;
      late.stdout_bytes = running.output.bytes_of(Stream::kStdout);
      late.stderr_bytes = running.output.bytes_of(Stream::kStderr);
      co_await end_program(running);
      if (!running.sent) co_return late;
      throw Failure::uncertain(Code::kTimeout,
                               "a program whose time is over could not be ended: " + running.why);
    }
    co_await api_.sleep(pause);
    pause = api_.settings().next_pause(pause);
  }
  co_return co_await unseen_end(running);
}

// Asks the runner to end its program, and the service to end a runner that does not.
Awaitable<void> Runner::end_program(Running& running) {
  if (!running.sent) co_return;
  const auto give_up = Clock::now() + kAbandonedPatience;
  milliseconds pause = api_.settings().poll_first;
  try {
    if (running.id.empty())
      running.id = co_await commands_.find(running.session, running.token, give_up);
    for (int attempt = 0; !running.id.empty() && Clock::now() + pause < give_up; ++attempt) {
      if (attempt == 0 || attempt == 6)
        co_await commands_.kill(running.session, running.id, attempt == 0 ? kSigTerm : kSigKill,
                                give_up);
      const CommandState state = co_await commands_.look(running.session, running.id, give_up);
      if (state.kind == CommandState::Kind::kEnded ||
          state.kind == CommandState::Kind::kNoCommand) {
        running.sent = false;
        co_return;
      }
      running.why = state.why;
      co_await api_.sleep(pause);
      pause = api_.settings().next_pause(pause);
    }
  } catch (const http::TransportFailure& failure) {
    running.why = failure.message();
  }
}

Awaitable<RunResult> Runner::perform(AsyncOperation& operation, Running& running,
                                     const Command& command) {
  const std::string body = command_body(command, running);
  if (command.timeout.count() > 0) {
    const auto limit = std::chrono::ceil<milliseconds>(command.timeout) + kTimeoutMargin;
    running.service_limit_ms = static_cast<std::uint64_t>(limit.count());
    running.give_up = Clock::now() + limit + kTimeoutMargin;
  }
  running.sent = true;
  std::optional<http::TransportFailure> failed;
  try {
    http::Reply reply =
        co_await commands_.begin(operation, running.session, body,
                                 std::min(running.give_up, until(operation, kSilenceMost)));
    co_await follow(operation, running, std::move(reply));
  } catch (const http::TransportFailure& failure) {
    failed = failure;
  } catch (const Failure& failure) {
    if (failure.outcome_class() == OutcomeClass::kRejected) running.sent = false;
    throw;
  }
  // A deadline is a cancellation, whichever of the two is seen first. [CANC-004]
  if (failed && (failed->reason() == http::Reason::kCancelled || operation.cancelled()))
    throw Operation::cancelled_failure();
  if (failed && failed->delivery() == http::Delivery::kNotSent) {
    running.sent = false;
    throw http::failure_of(*failed);
  }
  if (failed) running.why = failed->message();
  const auto result = running.output.result();
  if (result) co_return *result;
  co_return co_await recover(operation, running);
}

// perform() with its end written down: of two coroutines side by side an exception would be lost.
Awaitable<void> Runner::perform_into(AsyncOperation& operation, Running& running,
                                     const Command& command, std::optional<RunResult>& result,
                                     std::exception_ptr& wrong) {
  try {
    result = co_await perform(operation, running, command);
  } catch (...) {
    wrong = std::current_exception();
  }
}

// Hands the program its input, part by part; returns only when that failed. The service has no
// standard input, so the parts are files that the runner waits for; one that may have arrived is
// sent again.
Awaitable<void> Runner::feed(AsyncOperation& operation, Running& running) {
  std::vector<char> buffer(kInputBytes);
  const std::span<char> into(buffer);
  bool over = false;
  for (std::uint64_t number = 0; !over; ++number) {
    const std::size_t bytes = co_await operation.input(into);
    over = bytes == 0;
    const std::string path = running.input + "." + std::to_string(number);
    const std::string_view part(buffer.data(), bytes);
    for (int failures = 0;; ++failures) {
      std::optional<Answer> answer;
      try {
        answer = co_await files_.put_part(operation, running.session, path, part);
      } catch (const http::TransportFailure& failure) {
        running.why = failure.message();
      }
      // 410: everything in it has ended, which is seen elsewhere.
      if (answer && (answer->ok() || answer->status == 410)) break;
      if (answer) running.why = sentence(*answer);
      running.feeding_failed = failures + 1 >= kFeedAttempts;
      if (running.feeding_failed) co_return;
      co_await api_.sleep(api_.settings().poll_most);
    }
  }
  for (;;) co_await api_.sleep(std::chrono::hours(1));
}

Awaitable<RunResult> Runner::run(AsyncOperation& operation, std::string session,
                                 const Command& command) {
  if (command.argv.empty() || command.argv.front().empty())
    throw Failure::rejected(Code::kInvalidArgument, "a command has at least one word");
  if (command.limits)
    throw Failure::rejected(Code::kUnsupported, "Vercel has no limits for a single command");
  Running running(command);
  running.session = std::move(session);
  std::exception_ptr wrong;
  std::optional<RunResult> result;
  try {
    if (command.stdin_source == StdinSource::kInput) {
      using namespace boost::asio::experimental::awaitable_operators;
      running.input = fresh_name("/tmp/.berth-input-");
      co_await (perform_into(operation, running, command, result, wrong) ||
                feed(operation, running));
    } else {
      co_await perform_into(operation, running, command, result, wrong);
    }
    if (wrong) std::rethrow_exception(std::exchange(wrong, nullptr));
  } catch (const http::TransportFailure& failure) {
    wrong = std::make_exception_ptr(uncertain(failure));
  } catch (...) {
    wrong = std::current_exception();
  }
  if (result) co_return *result;
  // An end that was not waited for: the program may still run. [CANC-001] A coroutine that was
  // cancelled can wait for nothing, not even for another, before this.
  co_await boost::asio::this_coro::reset_cancellation_state();
  co_await end_program(running);
  if (running.sent)
    operation.host().log(LogLevel::kWarn, "a program in session " + running.session +
                                              " could not be ended: " + running.why);
  if (running.feeding_failed)
    throw Failure::uncertain(Code::kUnavailable,
                             "the program could not be given its input: " + running.why);
  std::rethrow_exception(wrong);
}

}  // namespace berth::vercel
