// Sessions: one shell each, its commands one after the other, their output kept apart.
#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "tests/standins/daytona/daytona.h"

namespace berth::standins::daytona {
namespace {

constexpr std::size_t kFrameBytes = 32768;

std::string mark_of(std::uint8_t stream) { return std::string(3, static_cast<char>(stream)); }

// Every segment behind three bytes that say whose it is.
std::string marked(const Transcript& transcript) {
  std::string text;
  for (std::size_t at = 0; at < transcript.size();) {
    const Transcript::Piece piece = transcript.piece(at, transcript.size());
    text += mark_of(piece.stream);
    text += piece.bytes;
    at += piece.bytes.size();
  }
  return text;
}

boost::json::object shown(const SessionCommand& command) {
  boost::json::object object{{"id", command.id}, {"command", command.command}};
  if (command.job->over()) object["exitCode"] = command.job->exit_code();
  return object;
}

boost::json::object shown(const Session& session) {
  boost::json::array commands;
  for (const SessionCommand& one : session.commands) commands.push_back(shown(one));
  return {{"sessionId", session.id}, {"commands", std::move(commands)}};
}

// Whether the client's SDK is of version 0.`minor` or later.
bool speaks(const Request& request, int minor) {
  const std::string_view version = request.header("x-daytona-sdk-version");
  int major = 0;
  int own = 0;
  const auto dot = version.find('.');
  if (dot == std::string_view::npos) return false;
  std::from_chars(version.data(), version.data() + dot, major);
  std::from_chars(version.data() + dot + 1, version.data() + version.size(), own);
  return major > 0 || own >= minor;
}

// Its form is as new as the client says it is.
Response whole_log(const Request& request, const Transcript& transcript) {
  if (speaks(request, 167)) {
    return json_answer(200, boost::json::object{{"output", to_valid_utf8(marked(transcript))},
                                                {"stdout", to_valid_utf8(transcript.of(kOut))},
                                                {"stderr", to_valid_utf8(transcript.of(kErr))}});
  }
  const bool split = speaks(request, 27) || request.header("x-daytona-split-output") == "true";
  Response response;
  response.type = "text/plain; charset=utf-8";
  response.body = split ? marked(transcript) : transcript.all();
  return response;
}

}  // namespace

void Daytona::add_sessions() {
  add_of_toolbox("POST /toolbox/{id}/process/session", &Daytona::create_session);
  add_of_toolbox("GET /toolbox/{id}/process/session", &Daytona::list_sessions);
  add_of_toolbox("GET /toolbox/{id}/process/session/{session}", &Daytona::get_session);
  add_of_toolbox("DELETE /toolbox/{id}/process/session/{session}", &Daytona::delete_session);
  add_of_toolbox("POST /toolbox/{id}/process/session/{session}/exec", &Daytona::exec_in_session);
  add_of_toolbox("GET /toolbox/{id}/process/session/{session}/command/{command}", &Daytona::get_command);
  add_of_toolbox("POST /toolbox/{id}/process/session/{session}/command/{command}/input", &Daytona::give_input);
  add_stream("GET /toolbox/{id}/process/session/{session}/command/{command}/logs", &Daytona::logs);
}

std::shared_ptr<Session> Daytona::find_session(const Sandbox& sandbox, std::string_view id) const {
  const auto found = sandbox.sessions.find(std::string(id));
  if (found == sandbox.sessions.end()) throw Refused{404, "not found: session not found", "PROCESS_NOT_FOUND"};
  return found->second;
}

SessionCommand& Daytona::find_command(const Sandbox& sandbox, const Call& call) const {
  const std::shared_ptr<Session> session = find_session(sandbox, call.parameters[1]);
  for (SessionCommand& one : session->commands) {
    if (one.id == call.parameters[2]) return one;
  }
  throw Refused{404, "not found: command not found", "PROCESS_NOT_FOUND"};
}

Task<Response> Daytona::create_session(Call& call, SandboxPointer sandbox) {
  const std::string id = text_of(body_of(call.request), "sessionId");
  if (id.empty()) throw Refused{400, "bad request: sessionId is required", "INVALID_REQUEST_BODY"};
  if (sandbox->sessions.contains(id)) throw Refused{409, "conflict: session already exists", "CONFLICT"};
  auto session = std::make_shared<Session>();
  session->id = id;
  sandbox->sessions[id] = session;
  Program program;
  program.argv = {kShell};
  program.flags = wire::kWithInput | wire::kSupervised;
  program.environment = sandbox->environment;
  session->shell = co_await sandbox->guest->run(std::move(program));
  co_return empty_answer(201);
}

Task<Response> Daytona::list_sessions(Call&, SandboxPointer sandbox) {
  boost::json::array body;
  for (const auto& [id, session] : sandbox->sessions) body.push_back(shown(*session));
  co_return json_answer(200, body);
}

Task<Response> Daytona::get_session(Call& call, SandboxPointer sandbox) {
  const std::shared_ptr<Session> session = find_session(*sandbox, call.parameters[1]);
  co_return json_answer(200, shown(*session));
}

// Everything that was ever started in it ends, and what it wrote is forgotten.
Task<Response> Daytona::delete_session(Call& call, SandboxPointer sandbox) {
  const std::shared_ptr<Session> session = find_session(*sandbox, call.parameters[1]);
  sandbox->sessions.erase(session->id);
  co_await sandbox->guest->end_tree(session->shell);
  for (SessionCommand& one : session->commands) sandbox->guest->forget(*one.job);
  co_return empty_answer(204);
}

Task<Response> Daytona::exec_in_session(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  const std::shared_ptr<Session> session = find_session(*sandbox, call.parameters[1]);
  const std::string text = text_of(body, "command");
  if (text.empty()) throw Refused{400, "bad request: command is required", "INVALID_REQUEST_BODY"};
  if (session->shell->over()) throw Refused{410, "gone: session has ended", "SESSION_ENDED"};
  const auto job = co_await sandbox->guest->run_in(session->shell, text);
  SessionCommand command;
  command.id = random_hex(16);
  command.command = text;
  command.echoes = !flag_of(body, "suppressInputEcho", false);
  command.job = job;
  const std::string id = command.id;
  session->commands.push_back(std::move(command));
  boost::json::object answer{
      {"cmdId", id}, {"output", nullptr}, {"stdout", nullptr}, {"stderr", nullptr}, {"exitCode", nullptr}};
  if (flag_of(body, "runAsync", flag_of(body, "async", false))) co_return json_answer(202, answer);
  co_await Guest::wait(job);
  if (job->lost) throw Refused{502, ""};
  answer["output"] = to_valid_utf8(marked(job->transcript));
  answer["stdout"] = to_valid_utf8(job->transcript.of(kOut));
  answer["stderr"] = to_valid_utf8(job->transcript.of(kErr));
  answer["exitCode"] = job->exit_code();
  co_return json_answer(200, answer);
}

Task<Response> Daytona::get_command(Call& call, SandboxPointer sandbox) {
  const SessionCommand& command = find_command(*sandbox, call);
  co_return json_answer(200, shown(command));
}

Task<Response> Daytona::give_input(Call& call, SandboxPointer sandbox) {
  const SessionCommand& command = find_command(*sandbox, call);
  if (command.job->over()) {
    throw Refused{410, "gone: command has already completed", "COMMAND_ALREADY_COMPLETED"};
  }
  std::string data = text_of(body_of(call.request), "data");
  if (!data.ends_with('\n')) data.push_back('\n');
  if (command.echoes) command.job->transcript.append(kOut, data);
  sandbox->guest->input(*command.job, data);
  command.job->bell.ring();
  co_return empty_answer(204);
}

Task<void> Daytona::logs(Call& call, SandboxPointer sandbox) {
  const std::shared_ptr<Job> job = find_command(*sandbox, call).job;
  const Transcript& transcript = job->transcript;
  if (!call.request.upgrade) {
    const Fault* behind = call.fault(Fault::Kind::kBehind);
    Response response = whole_log(call.request, behind == nullptr ? transcript : transcript.earlier(behind->bytes));
    co_await call.exchange.answer(std::move(response));
    co_return;
  }
  std::string protocol;
  const bool upgraded = co_await call.exchange.upgrade(std::move(protocol));
  if (!upgraded) co_return;
  std::size_t at = 0;
  std::uint8_t stream = 0;
  bool open = true;
  while (open) {
    if (at == transcript.size()) {
      if (job->over()) break;
      co_await job->bell.wait();
      continue;
    }
    const Transcript::Piece piece = transcript.piece(at, kFrameBytes);
    Message message;
    message.text = false;
    if (piece.stream != stream) message.bytes = mark_of(piece.stream);
    stream = piece.stream;
    message.bytes += piece.bytes;
    at += piece.bytes.size();
    open = co_await call.exchange.send(std::move(message));
  }
  std::string reason;
  if (open) co_await call.exchange.close(1000, std::move(reason));
}

}  // namespace berth::standins::daytona
