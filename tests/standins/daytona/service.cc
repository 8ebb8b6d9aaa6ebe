#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/ids.h"
#include "tests/standins/daytona/daytona.h"

namespace berth::standins {

std::unique_ptr<Service> make_daytona(Machines& machines) {
  return std::make_unique<daytona::Daytona>(machines);
}

namespace daytona {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    default: return "Internal Server Error";
  }
}

std::string_view code_of(int status) {
  switch (status) {
    case 400: return "BAD_REQUEST";
    case 401: return "UNAUTHORIZED";
    case 403: return "FORBIDDEN";
    case 404: return "NOT_FOUND";
    case 409: return "CONFLICT";
    case 410: return "GONE";
    default: return "INTERNAL_SERVER_ERROR";
  }
}

bool is_toolbox(const Request& request) {
  return !request.segments.empty() && request.segments.front() == "toolbox";
}

}  // namespace

std::string fresh_id() {
  std::string id = random_hex(16);
  for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, 1, '-');
  return id;
}

Response toolbox_refusal(const Request& request, const Refused& refused) {
  std::string path = "/";
  for (std::size_t i = 2; i < request.segments.size(); ++i) {
    path += (i == 2 ? "" : "/") + request.segments[i];
  }
  boost::json::object body{{"statusCode", refused.status},
                           {"message", refused.message},
                           {"code", refused.code.empty() ? code_of(refused.status) : refused.code},
                           {"timestamp", now_text()},
                           {"path", path},
                           {"method", request.method},
                           {"source", refused.source}};
  return json_answer(refused.status, body);
}

Daytona::Daytona(Machines& machines) : machines_(machines) {
  add_sandboxes();
  add_lifecycle();
  add_stored();
  add_processes();
  add_sessions();
  add_interpreter();
  add_files();
  Snapshot base;
  base.id = fresh_id();
  base.name = "daytona-small";
  base.image = "daytonaio/sandbox:0.1.0";
  base.created_at = now_text();
  snapshots_.push_back(std::move(base));
}

bool Daytona::strip(std::vector<std::string>* path) const {
  if (path->front() == "toolbox") return true;
  if (path->front() != "api") return false;
  path->erase(path->begin());
  return true;
}

void Daytona::listens_at(std::uint16_t port) {
  toolbox_ = "https://localhost:" + std::to_string(port) + "/toolbox";
}

Response Daytona::refusal(const Request& request, int status, std::string message) const {
  if (is_toolbox(request)) {
    return toolbox_refusal(request, Refused{status, std::move(message), {}, "DAYTONA_PROXY"});
  }
  boost::json::object body{{"path", request.path},
                           {"timestamp", now_text()},
                           {"statusCode", status},
                           {"error", reason_of(status)},
                           {"message", message}};
  return json_answer(status, body);
}

void Daytona::add(std::string name, Method method) {
  endpoints_.push_back(answering(std::move(name), [this, method](Call& call) -> Task<Response> {
    std::optional<Refused> refused;
    try {
      co_return co_await (this->*method)(call);
    } catch (const Refused& thrown) {
      refused = thrown;
    }
    co_return refusal(call.request, refused->status, refused->message);
  }));
}

void Daytona::add_of_sandbox(std::string name, SandboxMethod method) {
  endpoints_.push_back(answering(std::move(name), [this, method](Call& call) -> Task<Response> {
    std::optional<Refused> refused;
    try {
      SandboxPointer sandbox = find(call.parameters[0]);
      co_return co_await (this->*method)(call, std::move(sandbox));
    } catch (const Refused& thrown) {
      refused = thrown;
    }
    co_return refusal(call.request, refused->status, refused->message);
  }));
}

void Daytona::add_of_toolbox(std::string name, SandboxMethod method) {
  endpoints_.push_back(answering(std::move(name), [this, method](Call& call) -> Task<Response> {
    std::optional<Refused> refused;
    try {
      SandboxPointer sandbox = running(call.parameters[0]);
      co_return co_await (this->*method)(call, std::move(sandbox));
    } catch (const Refused& thrown) {
      refused = thrown;
    }
    // A daemon that is gone answers nothing itself; what stands before it has a page for that.
    if (refused->status == 502) {
      Response page;
      page.status = 502;
      page.type = "text/html";
      page.body = "<html><head><title>502 Bad Gateway</title></head><body></body></html>";
      co_return page;
    }
    co_return toolbox_refusal(call.request, *refused);
  }));
}

void Daytona::add_stream(std::string name, Task<void> (Daytona::*method)(Call&, SandboxPointer)) {
  Endpoint endpoint;
  endpoint.name = std::move(name);
  endpoint.run = [this, method](Call& call) -> Task<void> {
    std::optional<Refused> refused;
    try {
      SandboxPointer sandbox = running(call.parameters[0]);
      co_await (this->*method)(call, std::move(sandbox));
    } catch (const Refused& thrown) {
      refused = thrown;
    }
    if (!refused) co_return;
    Response response = toolbox_refusal(call.request, *refused);
    co_await call.exchange.answer(std::move(response));
  };
  endpoints_.push_back(std::move(endpoint));
}

SandboxPointer Daytona::find(std::string_view id_or_name) const {
  for (const SandboxPointer& one : in_order_) {
    if (one->id != id_or_name && one->name != id_or_name) continue;
    if (look(one.get())) return one;
  }
  throw Refused{404, "Sandbox with ID or name " + std::string(id_or_name) + " not found"};
}

SandboxPointer Daytona::running(std::string_view id) const {
  const auto found = sandboxes_.find(std::string(id));
  if (found == sandboxes_.end() || found->second->gone()) {
    throw Refused{400, "bad request: failed to get runner info: not found", "BAD_REQUEST", "DAYTONA_PROXY"};
  }
  const SandboxPointer& sandbox = found->second;
  if (sandbox->state != "started" && sandbox->state != "destroying") {
    throw Refused{400, "bad request: no IP address found. Is the Sandbox started?", "BAD_REQUEST",
                  "DAYTONA_PROXY"};
  }
  if (sandbox->guest == nullptr || !sandbox->guest->alive()) throw Refused{502, ""};
  sandbox->active = std::chrono::steady_clock::now();
  return sandbox;
}

bool Daytona::look(Sandbox* sandbox) const {
  if (sandbox->hidden_looks > 0) {
    --sandbox->hidden_looks;
    return false;
  }
  if (!sandbox->gone()) return true;
  if (sandbox->linger_looks == 0) return false;
  --sandbox->linger_looks;
  return true;
}

std::string Daytona::path_in(const Sandbox&, std::string_view path) const {
  return guest_path(path, kHome, kWorkFolder);
}

boost::json::object Daytona::state() const {
  std::size_t live = 0;
  boost::json::array all;
  for (const SandboxPointer& one : in_order_) {
    if (one->guest != nullptr && one->guest->alive()) ++live;
    all.push_back(boost::json::object{{"id", one->id},
                                      {"name", one->name},
                                      {"state", one->state},
                                      {"live", one->guest != nullptr && one->guest->alive()}});
  }
  return {{"created", in_order_.size()}, {"live", live}, {"sandboxes", std::move(all)}};
}

Task<void> Daytona::close() {
  const std::vector<SandboxPointer> all = in_order_;
  for (const SandboxPointer& one : all) {
    if (one->timer != nullptr) one->timer->cancel();
    if (one->guest != nullptr) co_await one->guest->end();
  }
}

}  // namespace daytona
}  // namespace berth::standins
