// What becomes of a sandbox between its making and its end.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <charconv>
#include <utility>

#include "core/base/ids.h"
#include "tests/standins/daytona/daytona.h"

namespace berth::standins::daytona {
namespace {

std::int64_t minutes_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw Refused{400, "interval must be a number"};
  return value;
}

void refuse_unstable(const Sandbox& sandbox) {
  if (sandbox.desired == "destroyed" || sandbox.state == "creating") {
    throw Refused{409, "Sandbox state change in progress"};
  }
}

}  // namespace

void Daytona::add_lifecycle() {
  add_of_sandbox("POST /sandbox/{id}/start", &Daytona::start);
  add_of_sandbox("POST /sandbox/{id}/stop", &Daytona::stop);
  add_of_sandbox("POST /sandbox/{id}/pause", &Daytona::pause);
  add_of_sandbox("POST /sandbox/{id}/archive", &Daytona::archive);
  add_of_sandbox("POST /sandbox/{id}/recover", &Daytona::recover);
  add_of_sandbox("POST /sandbox/{id}/resize", &Daytona::resize);
  add_of_sandbox("PUT /sandbox/{id}/labels", &Daytona::set_labels);
  add_of_sandbox("POST /sandbox/{id}/autostop/{min}", &Daytona::set_interval);
  add_of_sandbox("POST /sandbox/{id}/autopause/{min}", &Daytona::pause);
  add_of_sandbox("POST /sandbox/{id}/autoarchive/{min}", &Daytona::set_interval);
  add_of_sandbox("POST /sandbox/{id}/autodelete/{min}", &Daytona::set_interval);
  add_of_sandbox("POST /sandbox/{id}/ttl/{min}", &Daytona::set_interval);
  add_of_sandbox("POST /sandbox/{id}/public/{bool}", &Daytona::set_public);
  add_of_sandbox("POST /sandbox/{id}/network-settings", &Daytona::set_network);
  add_of_sandbox("POST /sandbox/{id}/last-activity", &Daytona::touch);
  add_of_sandbox("POST /sandbox/{id}/snapshot", &Daytona::take_snapshot);
  add_of_sandbox("POST /sandbox/{id}/fork", &Daytona::fork);
  add_of_sandbox("GET /sandbox/{id}/signing-key", &Daytona::signing_key);
  add_of_sandbox("POST /sandbox/{id}/signing-key/rotate", &Daytona::signing_key);
  add_of_sandbox("GET /sandbox/{id}/ports/{port}/preview-url", &Daytona::preview_url);
  add_of_sandbox("GET /sandbox/{id}/ports/{port}/signed-preview-url", &Daytona::preview_url);
  add_of_sandbox("GET /sandbox/{id}/toolbox-proxy-url", &Daytona::toolbox_url);
}

Task<Response> Daytona::stop(Call&, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  if (sandbox->state != "started" || sandbox->guest == nullptr) {
    throw Refused{400, "Sandbox is not in a state in which it can be stopped"};
  }
  co_await halt(sandbox);
  co_return answer(*sandbox);
}

Task<Response> Daytona::start(Call&, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  if (sandbox->state == "error" || sandbox->state == "build_failed") {
    throw Refused{400, "Sandbox is in an errored state"};
  }
  sandbox->desired = "started";
  sandbox->state = "started";
  sandbox->updated_at = now_text();
  sandbox->active = std::chrono::steady_clock::now();
  arm(sandbox);
  co_return answer(*sandbox);
}

Task<Response> Daytona::pause(Call&, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  throw Refused{422, "Pausing is not supported for this class of sandboxes"};
  co_return Response{};
}

Task<Response> Daytona::archive(Call&, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  if (sandbox->state != "stopped") throw Refused{400, "Sandbox is not stopped"};
  sandbox->desired = sandbox->state = "archived";
  co_return answer(*sandbox);
}

Task<Response> Daytona::recover(Call&, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  throw Refused{400, "Sandbox is not in a recoverable error"};
  co_return Response{};
}

Task<Response> Daytona::resize(Call& call, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  const boost::json::object body = body_of(call.request);
  const std::int64_t disk = number_of(sandbox->shape, "disk", 0);
  if (number_of(body, "disk", disk) < disk) throw Refused{400, "The disk cannot be made smaller"};
  for (const std::string_view key : {"cpu", "memory", "disk"}) {
    if (const auto* value = body.if_contains(key)) sandbox->shape[key] = *value;
  }
  co_return answer(*sandbox);
}

Task<Response> Daytona::set_labels(Call& call, SandboxPointer sandbox) {
  sandbox->labels = object_of(body_of(call.request), "labels");
  boost::json::object body{{"labels", sandbox->labels}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::set_interval(Call& call, SandboxPointer sandbox) {
  const std::int64_t minutes = minutes_of(call.parameters[1]);
  const std::string& what = call.request.segments[3];
  const std::string_view key = what == "autostop"      ? "autoStopInterval"
                               : what == "autoarchive" ? "autoArchiveInterval"
                               : what == "autodelete"  ? "autoDeleteInterval"
                                                       : "ttlMinutes";
  sandbox->shape[key] = minutes;
  if (what == "autodelete") sandbox->auto_delete_minutes = minutes;
  if (what == "autostop") sandbox->auto_stop_minutes = minutes;
  if (what == "ttl") sandbox->ttl_minutes = minutes;
  arm(sandbox);
  co_return answer(*sandbox);
}

Task<Response> Daytona::set_public(Call& call, SandboxPointer sandbox) {
  sandbox->shape["public"] = call.parameters[1] == "true";
  co_return answer(*sandbox);
}

Task<Response> Daytona::set_network(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  for (const std::string_view key : {"networkBlockAll", "networkAllowList", "domainAllowList"}) {
    if (const auto* value = body.if_contains(key)) sandbox->shape[key] = *value;
  }
  if (flag_of(body, "networkBlockAll", false)) {
    sandbox->shape.erase("networkAllowList");
  } else if (body.contains("networkAllowList")) {
    sandbox->shape["networkBlockAll"] = false;
    if (text_of(body, "networkAllowList").empty()) sandbox->shape.erase("networkAllowList");
  }
  co_return answer(*sandbox);
}

Task<Response> Daytona::touch(Call&, SandboxPointer sandbox) {
  sandbox->updated_at = now_text();
  sandbox->active = std::chrono::steady_clock::now();
  co_return empty_answer(201);
}

Task<Response> Daytona::signing_key(Call& call, SandboxPointer sandbox) {
  if (call.request.method == "POST") sandbox->signing_key = random_hex(16);
  const boost::json::value key(boost::json::string(sandbox->signing_key));
  co_return json_answer(200, key);
}

// A file's address is good by itself when it is signed with the key of its sandbox, until it expires.
bool Daytona::is_signed(const Request& request) const {
  const std::string_view signature = request.parameter("signature");
  if (signature.empty() || request.segments.size() != 4 || request.segments[0] != "toolbox") return false;
  const auto sandbox = sandboxes_.find(request.segments[1]);
  if (sandbox == sandboxes_.end()) return false;
  const std::string expires(request.parameter("expires"));
  const std::int64_t until = minutes_of(expires);
  if (until != 0 && until * 1000 < now_ms()) return false;
  const std::string text = "v1:files:" + request.method + ":" + std::string(request.parameter("path")) + ":" + expires;
  const std::string& key = sandbox->second->signing_key;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size) == nullptr) {
    return false;
  }
  std::string own(EVP_ENCODE_LENGTH(EVP_MAX_MD_SIZE), '\0');
  own.resize(static_cast<std::size_t>(
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(own.data()), digest, static_cast<int>(size))));
  while (own.ends_with('=')) own.pop_back();
  for (char& c : own) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return signature == "v1_" + own;
}

Task<Response> Daytona::preview_url(Call& call, SandboxPointer sandbox) {
  boost::json::object body{
      {"sandboxId", sandbox->id},
      {"url", "https://" + call.parameters[1] + "-" + sandbox->id + ".preview.invalid"},
      {"token", random_hex(16)}};
  if (call.request.segments.back() == "signed-preview-url") body["port"] = minutes_of(call.parameters[1]);
  co_return json_answer(200, body);
}

Task<Response> Daytona::toolbox_url(Call&, SandboxPointer) {
  boost::json::object body{{"url", toolbox_}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::take_snapshot(Call& call, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  const std::string name = text_of(body_of(call.request), "name");
  if (name.empty()) throw Refused{400, "name should not be empty"};
  if (find_snapshot(name) != nullptr) throw Refused{409, "Snapshot with name " + name + " already exists"};
  if (sandbox->guest == nullptr || !sandbox->guest->alive()) throw Refused{400, "Sandbox is not started"};
  Program program;
  program.argv = {"/bin/tar", "-cf", "-", "-C", kWorkFolder, "."};
  const auto job = co_await sandbox->guest->finish(std::move(program));
  if (job->exit_code() != 0) throw Refused{500, "The snapshot could not be written"};
  Snapshot snapshot;
  snapshot.id = fresh_id();
  snapshot.name = name;
  snapshot.archive = job->transcript.of(kOut);
  snapshot.created_at = now_text();
  snapshots_.push_back(std::move(snapshot));
  co_return answer(*sandbox);
}

Task<Response> Daytona::fork(Call& call, SandboxPointer sandbox) {
  refuse_unstable(*sandbox);
  const boost::json::object asked = body_of(call.request);
  boost::json::object body = sandbox->shape;
  if (const std::string name = text_of(asked, "name"); !name.empty()) {
    check_free(name);
    body["name"] = name;
  }
  body["labels"] = sandbox->labels;
  if (sandbox->guest == nullptr || !sandbox->guest->alive()) throw Refused{400, "Sandbox is not started"};
  Program program;
  program.argv = {"/bin/tar", "-cf", "-", "-C", kWorkFolder, "."};
  const auto job = co_await sandbox->guest->finish(std::move(program));
  const SandboxPointer made = keep(body);
  co_await boot(made, job->transcript.of(kOut));
  if (made->state == "error") throw Refused{400, "Sandbox failed to start: " + made->error_reason};
  co_return answer(*made);
}

}  // namespace berth::standins::daytona
