// Running things in one call.
#include <signal.h>

#include <boost/asio/steady_timer.hpp>
#include <sstream>
#include <utility>

#include "core/base/json.h"
#include "tests/standins/daytona/daytona.h"

namespace berth::standins::daytona {
namespace {

boost::json::object result_of(const Job& job) {
  return {{"exitCode", job.exit_code()}, {"result", to_valid_utf8(job.transcript.all())}};
}

}  // namespace

void Daytona::add_processes() {
  add_of_toolbox("POST /toolbox/{id}/process/execute", &Daytona::execute);
  add_of_toolbox("POST /toolbox/{id}/process/code-run", &Daytona::code_run);
  add_of_toolbox("POST /toolbox/{id}/env", &Daytona::set_environment);
  add_of_toolbox("GET /toolbox/{id}/version", &Daytona::version);
  add_of_toolbox("GET /toolbox/{id}/work-dir", &Daytona::work_dir);
  add_of_toolbox("GET /toolbox/{id}/user-home-dir", &Daytona::work_dir);
  add_of_toolbox("GET /toolbox/{id}/system/metrics", &Daytona::metrics);
}

Task<std::shared_ptr<Job>> Daytona::run_within(SandboxPointer sandbox, Program program, std::string input,
                                               std::int64_t seconds) {
  const std::shared_ptr<Guest> guest = sandbox->guest;
  if (!input.empty()) program.flags |= wire::kWithInput;
  auto job = co_await guest->run(std::move(program));
  if (job->start_error != 0) co_return job;
  if (!input.empty()) {
    guest->input(*job, input);
    guest->input(*job, {});
  }
  // The timer's call may be on its way when this returns.
  const auto late = std::make_shared<bool>(false);
  boost::asio::steady_timer timer(machines_.executor());
  if (seconds > 0) {
    timer.expires_after(std::chrono::seconds(seconds));
    timer.async_wait([late, guest, job](const boost::system::error_code& error) {
      if (error || job->over()) return;
      *late = true;
      guest->signal(*job, SIGKILL);
      job->bell.ring();
    });
  }
  while (!job->over() && !*late) co_await job->bell.wait();
  guest->forget(*job);
  if (*late) throw Refused{408, "request timeout: command execution timeout", "PROCESS_EXECUTION_TIMEOUT"};
  if (job->lost) throw Refused{502, ""};
  co_return job;
}

// The text goes to a shell's standard input, so what reads its own input eats the rest of it.
Task<Response> Daytona::execute(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  const std::string command = text_of(body, "command");
  if (command.empty()) throw Refused{400, "bad request: empty command", "INVALID_REQUEST_BODY"};
  Program program;
  program.argv = {kShell};
  program.flags = wire::kMerged;
  program.cwd = path_in(*sandbox, text_of(body, "cwd"));
  program.environment = sandbox->environment;
  for (auto& pair : environment_of(body, "envs")) program.environment.push_back(std::move(pair));
  const auto job = co_await run_within(sandbox, std::move(program), command + "\n", number_of(body, "timeout", 0));
  boost::json::object answer = result_of(*job);
  // A shell that could not be begun is no failure of the call.
  if (job->start_error != 0) answer["exitCode"] = -1;
  co_return json_answer(200, answer);
}

// A fresh process for each; no state is kept.
Task<Response> Daytona::code_run(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  const std::string language = text_of(body, "language", "python");
  Program program;
  program.flags = wire::kMerged;
  if (language == "python") {
    program.argv = {"/usr/bin/python3", "-u", "-c", text_of(body, "code")};
  } else if (language == "javascript") {
    program.argv = {"node", "-e", text_of(body, "code")};
  } else {
    throw Refused{400, "bad request: unsupported language: " + language, "INVALID_REQUEST_BODY"};
  }
  if (const auto* words = body.if_contains("argv"); words != nullptr && words->is_array()) {
    for (const auto& word : words->get_array()) program.argv.emplace_back(std::string(word.as_string()));
  }
  program.environment = sandbox->environment;
  for (auto& pair : environment_of(body, "envs")) program.environment.push_back(std::move(pair));
  const auto job = co_await run_within(sandbox, std::move(program), std::string(), number_of(body, "timeout", 0));
  boost::json::object answer = result_of(*job);
  co_return json_answer(200, answer);
}

Task<Response> Daytona::set_environment(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  for (auto& [name, value] : environment_of(body, "set")) {
    std::erase_if(sandbox->environment, [&](const auto& pair) { return pair.first == name; });
    sandbox->environment.emplace_back(name, value);
  }
  if (const auto* names = body.if_contains("unset"); names != nullptr && names->is_array()) {
    for (const auto& name : names->get_array()) {
      std::erase_if(sandbox->environment, [&](const auto& pair) { return name.is_string() && name.get_string() == pair.first; });
    }
  }
  boost::json::object answer;
  co_return json_answer(200, answer);
}

Task<Response> Daytona::version(Call&, SandboxPointer) {
  boost::json::object body{{"version", "0.218.0"}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::work_dir(Call&, SandboxPointer) {
  boost::json::object body{{"dir", kWorkFolder}};
  co_return json_answer(200, body);
}

// As the sandbox's own /proc and file system say it.
Task<Response> Daytona::metrics(Call&, SandboxPointer sandbox) {
  Program program;
  program.argv = {"/bin/sh", "-c",
                  "nproc; awk '/^MemTotal|^MemFree|^Cached/ {print $2 * 1024}' /proc/meminfo; "
                  "df -B1 --output=size,used,avail /workspace | tail -1"};
  const auto job = co_await sandbox->guest->finish(std::move(program));
  std::istringstream words(job->transcript.of(kOut));
  std::int64_t numbers[7] = {};
  for (std::int64_t& one : numbers) words >> one;
  boost::json::object body{{"cpuCount", numbers[0]},
                           {"cpuUsedPct", 0.0},
                           {"memTotal", numbers[1]},
                           {"memUsed", numbers[1] - numbers[2]},
                           {"memCache", numbers[3]},
                           {"diskTotal", numbers[4]},
                           {"diskUsed", numbers[5]},
                           {"diskFree", numbers[6]},
                           {"timestamp", now_text()},
                           {"timestampUnix", now_ms() / 1000}};
  co_return json_answer(200, body);
}

}  // namespace berth::standins::daytona
