// The stateful Python of a sandbox: contexts, each a process, and runs of code in them over a WebSocket.
#include "tests/standins/daytona/interpreter.h"

#include <signal.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "core/base/json.h"
#include "tests/standins/daytona/daytona.h"

namespace berth::standins::daytona {
namespace {

constexpr char kDefault[] = "default";
constexpr std::int64_t kDefaultSeconds = 600;
constexpr int kTimeoutClose = 4008;

std::string line_of(const boost::json::object& run) {
  boost::json::object asked{{"code", text_of(run, "code")}, {"envs", object_of(run, "envs")}};
  return to_json_text(asked) + "\n";
}

}  // namespace

void Daytona::add_interpreter() {
  add_stream("GET /toolbox/{id}/process/interpreter/execute", &Daytona::interpret);
  add_of_toolbox("POST /toolbox/{id}/process/interpreter/context", &Daytona::create_context);
  add_of_toolbox("GET /toolbox/{id}/process/interpreter/context", &Daytona::list_contexts);
  add_of_toolbox("DELETE /toolbox/{id}/process/interpreter/context/{context}", &Daytona::delete_context);
}

Task<std::shared_ptr<Job>> Daytona::start_interpreter(SandboxPointer sandbox, std::string folder) {
  Program program;
  program.argv = {"/usr/bin/python3", "-u", "-c", std::string(interpreter_py())};
  program.flags = wire::kWithInput;
  program.cwd = std::move(folder);
  program.environment = sandbox->environment;
  co_return co_await sandbox->guest->run(std::move(program));
}

Task<Response> Daytona::create_context(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  const std::string folder = path_in(*sandbox, text_of(body, "cwd"));
  if (text_of(body, "language", "python") != "python") throw Refused{400, "bad request: only python is supported"};
  const std::string id = fresh_id();
  sandbox->contexts[id] = co_await start_interpreter(sandbox, folder);
  boost::json::object answer{
      {"id", id}, {"cwd", folder}, {"createdAt", now_text()}, {"active", true}, {"language", "python"}};
  co_return json_answer(200, answer);
}

Task<Response> Daytona::list_contexts(Call&, SandboxPointer sandbox) {
  boost::json::array contexts;
  for (const auto& [id, job] : sandbox->contexts) {
    if (id == kDefault) continue;
    contexts.push_back(boost::json::object{{"id", id},
                                           {"cwd", kWorkFolder},
                                           {"createdAt", now_text()},
                                           {"active", !job->over()},
                                           {"language", "python"}});
  }
  boost::json::object body{{"contexts", std::move(contexts)}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::delete_context(Call& call, SandboxPointer sandbox) {
  const auto found = sandbox->contexts.find(call.parameters[1]);
  if (found == sandbox->contexts.end() || found->first == kDefault) throw Refused{404, "not found: context not found"};
  sandbox->guest->signal(*found->second, SIGKILL);
  sandbox->contexts.erase(found);
  boost::json::object body{{"message", "context deleted"}};
  co_return json_answer(200, body);
}

// Events are lines that the context's process writes; the control event ends the run.
Task<void> Daytona::interpret(Call& call, SandboxPointer sandbox) {
  if (!call.request.upgrade) throw Refused{400, "bad request: a WebSocket is needed"};
  std::string protocol;
  const bool upgraded = co_await call.exchange.upgrade(std::move(protocol));
  if (!upgraded) co_return;
  const auto first = co_await call.exchange.receive();
  if (!first) co_return;
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(first->bytes, error);
  if (error || !parsed.is_object()) {
    co_await call.exchange.close(1002, "invalid payload");
    co_return;
  }
  const boost::json::object run = parsed.get_object();
  const std::string context = text_of(run, "contextId", kDefault);
  std::shared_ptr<Job> job;
  if (const auto kept = sandbox->contexts.find(context); kept != sandbox->contexts.end()) job = kept->second;
  if (job == nullptr && context == kDefault) {
    job = co_await start_interpreter(sandbox, kWorkFolder);
    sandbox->contexts[context] = job;
  }
  if (job == nullptr || job->over()) {
    sandbox->contexts.erase(context);
    co_await call.exchange.close(1008, "context is not active");
    co_return;
  }
  std::size_t at = job->transcript.of(kOut).size();
  sandbox->guest->input(*job, line_of(run));
  const auto late = std::make_shared<bool>(false);
  boost::asio::steady_timer timer(machines_.executor());
  if (const std::int64_t seconds = number_of(run, "timeout", kDefaultSeconds); seconds > 0) {
    timer.expires_after(std::chrono::seconds(seconds));
    timer.async_wait([late, job](const boost::system::error_code& stopped) {
      if (stopped) return;
      *late = true;
      job->bell.ring();
    });
  }
  bool completed = false;
  while (!completed) {
    const std::string out = job->transcript.of(kOut);
    const std::size_t end = out.find('\n', at);
    if (end == std::string::npos) {
      if (*late || job->over()) break;
      co_await job->bell.wait();
      continue;
    }
    Message message;
    message.bytes = out.substr(at, end - at);
    at = end + 1;
    completed = message.bytes.find("\"type\": \"control\"") != std::string::npos;
    const bool sent = co_await call.exchange.send(std::move(message));
    if (!sent) co_return;
  }
  if (!completed) {
    // What does not end in time takes its names with it.
    sandbox->guest->signal(*job, SIGKILL);
    sandbox->contexts.erase(context);
  }
  const int code = completed ? 1000 : *late ? kTimeoutClose : 1001;
  std::string reason;
  co_await call.exchange.close(code, std::move(reason));
}

}  // namespace berth::standins::daytona
