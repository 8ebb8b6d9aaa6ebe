// Commands: run, followed line by line of JSON, looked at and ended.
#include <errno.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/base/json.h"
#include "tests/standins/vercel/vercel.h"

namespace berth::standins::vercel {
namespace {

constexpr std::size_t kPieceBytes = 32768;
constexpr char kLines[] = "application/x-ndjson";

// How much of `text` is whole characters: a piece may end in the middle of one.
std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0u) == 0x80u) continue;
    const std::size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return needs > back ? text.size() - back : text.size();
  }
  return text.size();
}

// What is written of each stream, as lines; what is left of a character waits for the rest of it.
class Lines {
 public:
  std::string next(std::uint8_t stream, std::string_view bytes) {
    std::string& held = held_[stream == kErr ? 1 : 0];
    held += bytes;
    const std::size_t whole = whole_characters(held);
    const std::string text = held.substr(0, whole);
    held.erase(0, whole);
    return line(stream, text);
  }
  std::string rest() {
    return line(kOut, std::exchange(held_[0], {})) + line(kErr, std::exchange(held_[1], {}));
  }

 private:
  static std::string line(std::uint8_t stream, const std::string& text) {
    if (text.empty()) return {};
    boost::json::object object{{"stream", stream == kErr ? "stderr" : "stdout"}, {"data", to_valid_utf8(text)}};
    return to_json_text(object) + "\n";
  }
  std::string held_[2];
};

std::string lost_line() {
  boost::json::object data{{"code", "sandbox_stream_closed"}, {"message", "Sandbox stream was closed"}};
  boost::json::object object{{"stream", "error"}, {"data", std::move(data)}};
  return to_json_text(object) + "\n";
}

}  // namespace

void Vercel::add_commands() {
  add_stream("POST /v2/sandboxes/sessions/{session}/cmd", &Vercel::run_command);
  add("GET /v2/sandboxes/sessions/{session}/cmd", &Vercel::list_commands);
  add("GET /v2/sandboxes/sessions/{session}/cmd/{command}", &Vercel::get_command);
  add_stream("GET /v2/sandboxes/sessions/{session}/cmd/{command}/logs", &Vercel::logs);
  add("POST /v2/sandboxes/sessions/{session}/cmd/{command}/kill", &Vercel::kill);
}

boost::json::object Vercel::dto(const RunningCommand& command) const {
  boost::json::object object{{"id", command.id},
                             {"name", command.name},
                             {"args", command.arguments},
                             {"cwd", command.cwd},
                             {"sessionId", command.session_id},
                             {"exitCode", nullptr}};
  if (command.job->over() && !command.job->lost) {
    object["exitCode"] = command.job->exit_code();
    object["durationMs"] = std::max(command.ended_at, command.started_at) - command.started_at;
  }
  object["startedAt"] = command.started_at;
  return object;
}

// The same as it is told while it runs, however soon it has ended.
boost::json::object Vercel::as_begun(const RunningCommand& command) const {
  boost::json::object object = dto(command);
  object["exitCode"] = nullptr;
  object.erase("durationMs");
  return object;
}

CommandPointer Vercel::command(const Call& call) const {
  const SessionPointer found = session(call);
  for (const CommandPointer& one : found->commands) {
    if (one->id == call.parameters[1]) return one;
  }
  throw Refused{404, "not_found", "Command not found"};
}

void Vercel::note_end(RunningCommand* command) {
  if (command->job->over() && command->ended_at == 0) command->ended_at = now_ms();
}

// No shell: what runs is the program of that name. The service ends it at its own timeout.
Task<void> Vercel::run_command(Call& call) {
  const SessionPointer session = running(call);
  const boost::json::object body = body_of(call.request);
  auto made = std::make_shared<RunningCommand>();
  made->id = fresh_id("cmd");
  made->name = text_of(body, "command");
  if (made->name.empty()) throw Refused{400, "bad_request", "command is required"};
  made->session_id = session->id;
  made->started_at = now_ms();
  Program program;
  program.cwd = guest_path(text_of(body, "cwd"), kHome, kWorkFolder);
  program.argv = {made->name};
  if (const auto* words = body.if_contains("args"); words != nullptr && words->is_array()) {
    made->arguments = words->get_array();
    for (const auto& word : made->arguments) program.argv.emplace_back(std::string(word.as_string()));
  }
  program.environment = environment_of(body, "env");
  made->cwd = program.cwd;
  made->job = co_await session->guest->run(std::move(program));
  if (made->job->start_error != 0) {
    // As a shell says it: the service's own words for it are not known.
    made->job->transcript.append(kErr, made->name + ": " + (made->job->start_error == ENOENT
                                                               ? "not found\n"
                                                               : "cannot be run\n"));
  }
  session->commands.push_back(made);
  if (const std::int64_t most = number_of(body, "timeout", 0); most > 0) {
    auto timer = std::make_shared<boost::asio::steady_timer>(machines_.executor());
    timer->expires_after(std::chrono::milliseconds(most));
    timer->async_wait([timer, made, guest = session->guest](const boost::system::error_code& error) {
      if (!error && !made->job->over()) guest->signal(*made->job, SIGKILL);
    });
  }
  if (!flag_of(body, "wait", false)) {
    boost::json::object answer{{"command", as_begun(*made)}};
    Response response = json_answer(200, answer);
    co_await call.exchange.answer(std::move(response));
    co_return;
  }
  co_await stream(call, made, true, flag_of(body, "logs", false));
}

Task<void> Vercel::stream(Call& call, CommandPointer command, bool framed, bool with_logs) {
  Response head;
  head.type = kLines;
  const bool begun = co_await call.exchange.begin(std::move(head));
  if (!begun) co_return;
  if (framed) {
    boost::json::object first{{"command", as_begun(*command)}};
    std::string text = to_json_text(first) + "\n";
    const bool sent = co_await call.exchange.write(std::move(text));
    if (!sent) co_return;
  }
  const std::shared_ptr<Job> job = command->job;
  const Transcript& transcript = job->transcript;
  Lines lines;
  std::size_t at = 0;
  bool open = true;
  while (open) {
    if (at == transcript.size()) {
      if (job->over()) break;
      co_await job->bell.wait();
      continue;
    }
    const Transcript::Piece piece = transcript.piece(at, kPieceBytes);
    at += piece.bytes.size();
    if (!with_logs) continue;
    std::string text = lines.next(piece.stream, piece.bytes);
    open = co_await call.exchange.write(std::move(text));
  }
  if (!open) co_return;
  note_end(command.get());
  std::string text = with_logs ? lines.rest() : std::string();
  if (job->lost) {
    text += lost_line();
  } else if (framed) {
    boost::json::object last{{"command", dto(*command)}};
    text += to_json_text(last) + "\n";
  }
  co_await call.exchange.write(std::move(text));
  co_await call.exchange.finish();
}

Task<Response> Vercel::list_commands(Call& call) {
  const SessionPointer found = session(call);
  boost::json::array items;
  for (const CommandPointer& one : found->commands) items.insert(items.begin(), dto(*one));
  boost::json::object body{{"commands", std::move(items)}};
  co_return json_answer(200, body);
}

Task<Response> Vercel::get_command(Call& call) {
  const CommandPointer found = command(call);
  if (call.request.parameter("wait") == "true") co_await Guest::wait(found->job);
  note_end(found.get());
  boost::json::object body{{"command", dto(*found)}};
  co_return json_answer(200, body);
}

Task<void> Vercel::logs(Call& call) {
  const CommandPointer found = command(call);
  co_await stream(call, found, false, true);
}

Task<Response> Vercel::kill(Call& call) {
  const SessionPointer session = running(call);
  const CommandPointer found = command(call);
  const std::int64_t number = number_of(body_of(call.request), "signal", SIGTERM);
  if (number < 1 || number > 64) throw Refused{400, "bad_request", "signal is out of range"};
  if (found->job->over()) throw Refused{400, "bad_request", "Command has finished"};
  session->guest->signal(*found->job, static_cast<int>(number));
  boost::json::object body{{"command", as_begun(*found)}};
  co_return json_answer(200, body);
}

}  // namespace berth::standins::vercel
