#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include "tests/standins/vercel/vercel.h"

namespace berth::standins {

std::unique_ptr<Service> make_vercel(Machines& machines) { return std::make_unique<vercel::Vercel>(machines); }

namespace vercel {
namespace {

constexpr std::size_t kPageDefault = 20;
constexpr std::size_t kPageMost = 50;

Response refused_answer(const Refused& refused) {
  boost::json::object error{{"code", refused.code}, {"message", refused.message}};
  boost::json::object body{{"error", std::move(error)}};
  return json_answer(refused.status, body);
}

std::string_view code_of(int status) {
  switch (status) {
    case 401:
    case 403: return "forbidden";
    case 404: return "not_found";
    default: return "bad_request";
  }
}

void put_rules(const boost::json::object& allowed, boost::json::object* shown) {
  boost::json::array injections;
  boost::json::array forwards;
  for (const auto& [domain, rules] : allowed) {
    if (!rules.is_array()) continue;
    for (const auto& rule : rules.get_array()) {
      if (!rule.is_object()) continue;
      boost::json::object one{{"domain", domain}};
      if (const auto* match = rule.get_object().if_contains("match")) one["match"] = *match;
      if (const auto* url = rule.get_object().if_contains("forwardURL")) {
        one["forwardURL"] = *url;
        forwards.push_back(std::move(one));
        continue;
      }
      const auto* transforms = rule.get_object().if_contains("transform");
      if (transforms == nullptr || !transforms->is_array()) continue;
      boost::json::array names;
      for (const auto& transform : transforms->get_array()) {
        for (const auto& [name, value] : object_of(transform.as_object(), "headers")) names.emplace_back(name);
      }
      one["headerNames"] = std::move(names);
      injections.push_back(std::move(one));
    }
  }
  (*shown)["injectionRules"] = std::move(injections);
  (*shown)["forwardRules"] = std::move(forwards);
}

}  // namespace

boost::json::object shown_policy(const boost::json::object& policy) {
  if (const std::string mode = text_of(policy, "mode"); !mode.empty()) return {{"mode", mode}};
  boost::json::object shown{{"mode", "custom"}};
  boost::json::array domains;
  const auto* allowed = policy.if_contains("allow");
  if (allowed != nullptr && allowed->is_array()) domains = allowed->get_array();
  if (allowed != nullptr && allowed->is_object()) {
    for (const auto& [domain, rules] : allowed->get_object()) domains.emplace_back(domain);
  }
  shown["allowedDomains"] = std::move(domains);
  if (allowed != nullptr && allowed->is_object()) put_rules(allowed->get_object(), &shown);
  const boost::json::object subnets = object_of(policy, "subnets");
  if (const auto* list = subnets.if_contains("allow")) shown["allowedCIDRs"] = *list;
  if (const auto* list = subnets.if_contains("deny")) shown["deniedCIDRs"] = *list;
  return shown;
}

boost::json::object page(const Call& call, std::string_view name, const boost::json::array& items) {
  const auto number = [&](std::string_view parameter, std::size_t otherwise) {
    const std::string_view text = call.request.parameter(parameter);
    std::from_chars(text.data(), text.data() + text.size(), otherwise);
    return otherwise;
  };
  const std::size_t limit = number("limit", kPageDefault);
  if (limit == 0 || limit > kPageMost) throw Refused{400, "bad_request", "limit must be from 1 to 50"};
  const std::size_t begin = std::min(items.size(), number("cursor", 0));
  const std::size_t end = std::min(items.size(), begin + limit);
  const bool torn = call.fault(Fault::Kind::kPage) != nullptr && end > begin;
  boost::json::array shown;
  for (std::size_t i = begin; i < end - (torn ? 1 : 0); ++i) shown.push_back(items[i]);
  if (torn && end - begin >= 2) shown.push_back(items[begin]);
  boost::json::object pagination{{"count", shown.size()}, {"next", nullptr}};
  if (end < items.size()) pagination["next"] = std::to_string(end);
  boost::json::object body;
  body[name] = std::move(shown);
  body["pagination"] = std::move(pagination);
  return body;
}

Vercel::Vercel(Machines& machines) : machines_(machines) {
  add_sandboxes();
  add_stored();
  add_sessions();
  add_commands();
  add_files();
}

bool Vercel::strip(std::vector<std::string>* path) const {
  if (path->front() != "api") return false;
  path->erase(path->begin());
  return true;
}

Response Vercel::refusal(const Request&, int status, std::string message) const {
  const int told = status == 401 ? 403 : status;
  return refused_answer(Refused{told, std::string(code_of(status)), std::move(message)});
}

void Vercel::add(std::string name, Method method) {
  endpoints_.push_back(answering(std::move(name), [this, method](Call& call) -> Task<Response> {
    std::optional<Refused> refused;
    try {
      if (call.request.parameter("teamId").empty() && call.request.parameter("slug").empty()) {
        throw Refused{403, "forbidden", "A team must be named"};
      }
      co_return co_await (this->*method)(call);
    } catch (const Refused& thrown) {
      refused = thrown;
    }
    co_return refused_answer(*refused);
  }));
}

void Vercel::add_stream(std::string name, Stream method) {
  Endpoint endpoint;
  endpoint.name = std::move(name);
  endpoint.run = [this, method](Call& call) -> Task<void> {
    std::optional<Refused> refused;
    try {
      co_await (this->*method)(call);
    } catch (const Refused& thrown) {
      refused = thrown;
    }
    if (!refused) co_return;
    Response response = refused_answer(*refused);
    co_await call.exchange.answer(std::move(response));
  };
  endpoints_.push_back(std::move(endpoint));
}

std::string Vercel::fresh_id(std::string_view kind) {
  char number[16];
  std::snprintf(number, sizeof(number), "%06llu", static_cast<unsigned long long>(++last_id_));
  return std::string(kind) + "_" + number;
}

bool Vercel::look(Sandbox* sandbox) const {
  if (sandbox->hidden_looks > 0) {
    --sandbox->hidden_looks;
    return false;
  }
  if (!sandbox->deleted) return true;
  if (sandbox->linger_looks == 0) return false;
  --sandbox->linger_looks;
  return true;
}

SandboxPointer Vercel::find(const Call& call) {
  const std::string& name = call.parameters[0];
  const std::string_view project = call.request.parameter("projectId");
  for (const SandboxPointer& one : sandboxes_) {
    if (one->name == name && one->project == project && look(one.get())) return one;
  }
  throw Refused{404, "not_found", "Named sandbox '" + name + "' not found for this project."};
}

SessionPointer Vercel::session(const Call& call) const {
  for (const SandboxPointer& sandbox : sandboxes_) {
    for (const SessionPointer& one : sandbox->sessions) {
      if (one->id == call.parameters[0] && !sandbox->deleted) return one;
    }
  }
  throw Refused{404, "not_found", "Session not found"};
}

SessionPointer Vercel::running(const Call& call) const {
  SessionPointer found = session(call);
  if (found->status == "stopping") throw Refused{422, "sandbox_stopping", "Sandbox is stopping"};
  if (found->status == "snapshotting") throw Refused{422, "sandbox_snapshotting", "Sandbox is being snapshotted"};
  if (found->status != "running" || found->guest == nullptr || !found->guest->alive()) {
    throw Refused{410, "sandbox_stopped", "Sandbox has stopped execution and is no longer available"};
  }
  return found;
}

SandboxPointer Vercel::of_session(const Session& session) const {
  for (const SandboxPointer& sandbox : sandboxes_) {
    for (const SessionPointer& one : sandbox->sessions) {
      if (one.get() == &session) return sandbox;
    }
  }
  throw Refused{404, "not_found", "Session not found"};
}

boost::json::object Vercel::state() const {
  std::size_t live = 0;
  boost::json::array all;
  for (const SandboxPointer& one : sandboxes_) {
    bool lives = false;
    for (const SessionPointer& session : one->sessions) {
      if (session->guest != nullptr && session->guest->alive()) lives = true;
    }
    if (lives) ++live;
    all.push_back(boost::json::object{{"name", one->name},
                                      {"state", one->deleted ? "deleted" : one->current().status},
                                      {"sessions", one->sessions.size()},
                                      {"live", lives}});
  }
  return {{"created", sandboxes_.size()}, {"live", live}, {"sandboxes", std::move(all)}};
}

Task<void> Vercel::close() {
  const std::vector<SandboxPointer> all = sandboxes_;
  for (const SandboxPointer& sandbox : all) {
    for (const SessionPointer& one : sandbox->sessions) {
      if (one->end != nullptr) one->end->cancel();
      if (one->guest != nullptr) co_await one->guest->end();
    }
  }
}

}  // namespace vercel
}  // namespace berth::standins
