// Making, finding and removing sandboxes.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <utility>

#include "core/base/ids.h"
#include "tests/standins/daytona/daytona.h"

namespace berth::standins::daytona {
namespace {

constexpr std::size_t kPageMost = 100;
constexpr std::size_t kNetworkListMost = 10;
constexpr auto kLongestLife = std::chrono::hours(12);  // of what is behind it; its own timers end it sooner

// What of a create's body the answer repeats as it is.
constexpr std::string_view kRepeated[] = {
    "env", "user", "public", "networkBlockAll", "networkAllowList", "domainAllowList", "outboundProxyUrl",
    "target", "cpu", "memory", "disk", "gpu", "autoStopInterval", "autoArchiveInterval",
    "autoDeleteInterval", "autoPauseInterval", "ttlMinutes", "volumes", "buildInfo", "snapshot"};
// Of these, what a list leaves out.
constexpr std::string_view kNotListed[] = {"env", "volumes", "buildInfo"};

boost::json::object defaults() {
  return {{"snapshot", "daytona-small"},
          {"user", "daytona"},
          {"env", boost::json::object()},
          {"public", false},
          {"networkBlockAll", false},
          {"target", "us"},
          {"cpu", 1},
          {"gpu", 0},
          {"memory", 1},
          {"disk", 3},
          {"autoStopInterval", 15},
          {"autoArchiveInterval", 10080},
          {"autoDeleteInterval", -1},
          {"volumes", boost::json::array()}};
}

std::size_t entries_of(std::string_view list) {
  std::size_t count = list.empty() ? 0 : 1;
  for (const char c : list) count += c == ',' ? 1 : 0;
  return count;
}

bool has_labels(const Sandbox& sandbox, const boost::json::object& wanted) {
  for (const auto& [key, value] : wanted) {
    const auto* own = sandbox.labels.if_contains(key);
    if (own == nullptr || *own != value) return false;
  }
  return true;
}

bool has_state(const Sandbox& sandbox, const std::vector<std::string>& states) {
  if (states.empty()) return true;
  for (const std::string& state : states) {
    if (sandbox.state == state) return true;
  }
  return false;
}

}  // namespace

std::size_t number(std::string_view text, std::size_t otherwise) {
  std::size_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void Daytona::add_sandboxes() {
  add("POST /sandbox", &Daytona::create);
  add("GET /sandbox", &Daytona::list);
  add("GET /sandbox/{id}", &Daytona::get);
  add("DELETE /sandbox/{id}", &Daytona::remove);
}

boost::json::object Daytona::dto(const Sandbox& sandbox, bool listed) const {
  boost::json::object object;
  object["id"] = sandbox.id;
  object["organizationId"] = "org-1";
  object["name"] = sandbox.name;
  for (const auto& [key, value] : sandbox.shape) object[key] = value;
  object["labels"] = sandbox.labels;
  object["state"] = sandbox.state_looks > 0 ? sandbox.shown_state : sandbox.state;
  // What is gone is only ever shown when it lingers or flaps, and then it is not gone yet.
  if (sandbox.gone()) object["state"] = listed ? "started" : "destroying";
  object["desiredState"] = sandbox.desired;
  if (!sandbox.error_reason.empty()) {
    object["errorReason"] = sandbox.error_reason;
    object["recoverable"] = false;
  }
  object["createdAt"] = sandbox.created_at;
  object["updatedAt"] = sandbox.updated_at;
  object["sandboxClass"] = "container";
  object["daemonVersion"] = "0.218.0";
  object["toolboxProxyUrl"] = toolbox_;
  if (listed) {
    for (const std::string_view key : kNotListed) object.erase(key);
  }
  return object;
}

void Daytona::check_free(std::string_view name) const {
  for (const SandboxPointer& one : in_order_) {
    if (!one->gone() && one->name == name) {
      throw Refused{409, "Sandbox with name " + std::string(name) + " already exists"};
    }
  }
}

void Daytona::check_create(const boost::json::object& body) const {
  if (!body.contains("buildInfo")) {
    for (const std::string_view key : {"cpu", "memory", "disk", "gpu"}) {
      if (body.contains(key)) {
        throw Refused{400, "Resources can only be set when the sandbox is built from an image"};
      }
    }
  }
  for (const std::string_view key : {"networkAllowList", "domainAllowList"}) {
    if (entries_of(text_of(body, key)) > kNetworkListMost) {
      throw Refused{400, std::string(key) + " has more than 10 entries"};
    }
  }
  if (number_of(body, "autoPauseInterval", 0) != 0) {
    throw Refused{422, "Pausing is not supported for this class of sandboxes"};
  }
  if (!text_of(body, "name").empty()) check_free(text_of(body, "name"));
}

// A new one with what its maker chose; not made yet.
SandboxPointer Daytona::keep(const boost::json::object& body) {
  auto sandbox = std::make_shared<Sandbox>();
  sandbox->id = fresh_id();
  sandbox->name = text_of(body, "name", sandbox->id);
  sandbox->labels = object_of(body, "labels");
  sandbox->shape = defaults();
  for (const std::string_view key : kRepeated) {
    if (const auto* value = body.if_contains(key)) sandbox->shape[key] = *value;
  }
  sandbox->ttl_minutes = number_of(body, "ttlMinutes", 0);
  sandbox->auto_stop_minutes = number_of(body, "autoStopInterval", sandbox->auto_stop_minutes);
  sandbox->auto_delete_minutes = number_of(body, "autoDeleteInterval", -1);
  sandbox->created_at = sandbox->updated_at = now_text();
  sandbox->signing_key = random_hex(16);
  sandboxes_[sandbox->id] = sandbox;
  in_order_.push_back(sandbox);
  return sandbox;
}

// The real sandbox behind it, and what was in the snapshot it is made of.
Task<void> Daytona::boot(SandboxPointer sandbox, std::string archive) {
  auto guest = co_await Guest::start(machines_, environment_of(sandbox->shape, "env"), kLongestLife);
  if (!guest) {
    sandbox->state = "error";
    sandbox->error_reason = guest.error().message();
    co_return;
  }
  sandbox->guest = *guest;
  if (!archive.empty()) {
    Program program;
    program.argv = {"/bin/tar", "-xf", "-", "-C", kWorkFolder};
    co_await sandbox->guest->finish(std::move(program), std::move(archive));
  }
  if (sandbox->state == "creating") sandbox->state = "started";
  sandbox->updated_at = now_text();
  sandbox->active = std::chrono::steady_clock::now();
  arm(sandbox);
}

Task<Response> Daytona::create(Call& call) {
  const boost::json::object body = body_of(call.request);
  check_create(body);
  std::string archive;
  if (const std::string name = text_of(body, "snapshot"); !name.empty()) {
    const Snapshot* snapshot = find_snapshot(name);
    if (snapshot == nullptr) throw Refused{400, "Snapshot " + name + " not found"};
    if (snapshot->state != "active") throw Refused{400, "Snapshot " + name + " is " + snapshot->state};
    archive = snapshot->archive;
  }
  SandboxPointer sandbox = keep(body);
  if (const Fault* hide = call.fault(Fault::Kind::kHide)) sandbox->hidden_looks = hide->looks;
  if (const Fault* shown = call.fault(Fault::Kind::kState)) {
    if (shown->state == "error" || shown->state == "build_failed") {
      sandbox->state = shown->state;
      sandbox->error_reason = "the runner gave it up";
      throw Refused{400, "Sandbox failed to start: " + sandbox->error_reason};
    }
    sandbox->shown_state = shown->state;
    sandbox->state_looks = shown->looks;
  }
  co_await boot(sandbox, std::move(archive));
  if (sandbox->state == "error") throw Refused{400, "Sandbox failed to start: " + sandbox->error_reason};
  co_return answer(*sandbox);
}

Task<Response> Daytona::get(Call& call) {
  const SandboxPointer sandbox = find(call.parameters[0]);
  Response response = answer(*sandbox);
  if (sandbox->state_looks > 0) --sandbox->state_looks;
  co_return response;
}

// Pages count positions among all that match, so that a cursor stays good while others come and go.
Task<Response> Daytona::list(Call& call) {
  const Request& request = call.request;
  const std::string labels(request.parameter("labels"));
  boost::json::object wanted;
  if (!labels.empty()) {
    boost::system::error_code error;
    const boost::json::value parsed = boost::json::parse(labels, error);
    if (error || !parsed.is_object()) throw Refused{400, "labels must be a JSON object"};
    wanted = parsed.get_object();
  }
  const std::size_t limit = number(request.parameter("limit"), kPageMost);
  if (limit == 0 || limit > kPageMost) throw Refused{400, "limit must be from 1 to 100"};
  const std::size_t begin = number(request.parameter("cursor"), 0);
  const std::vector<std::string> states = request.parameters("states");
  std::vector<SandboxPointer> matching;
  for (const SandboxPointer& one : in_order_) {
    const bool fits = one->name.starts_with(request.parameter("name")) &&
                      one->id.starts_with(request.parameter("id")) && has_labels(*one, wanted) &&
                      has_state(*one, states);
    if (!fits) continue;
    const bool flaps = one->gone() && one->flap_looks > 0;
    if (flaps) --one->flap_looks;
    if (flaps || look(one.get())) matching.push_back(one);
  }
  std::size_t end = std::min(matching.size(), begin + limit);
  boost::json::array items;
  const bool torn = call.fault(Fault::Kind::kPage) != nullptr && end > begin;
  for (std::size_t i = begin; i < end - (torn ? 1 : 0); ++i) items.push_back(dto(*matching[i], true));
  if (torn && end - begin >= 2) items.push_back(dto(*matching[begin], true));
  boost::json::object body;
  body["items"] = std::move(items);
  body["nextCursor"] = nullptr;
  if (end < matching.size()) body["nextCursor"] = std::to_string(end);
  co_return json_answer(200, body);
}

// Only what looks at one is answered from memory; a deletion finds what there is.
Task<Response> Daytona::remove(Call& call) {
  const std::string& wanted = call.parameters[0];
  const auto found = std::find_if(in_order_.begin(), in_order_.end(), [&](const SandboxPointer& one) {
    return !one->gone() && (one->id == wanted || one->name == wanted);
  });
  if (found == in_order_.end()) throw Refused{404, "Sandbox with ID or name " + wanted + " not found"};
  const SandboxPointer sandbox = *found;
  if (sandbox->desired == "destroyed") throw Refused{409, "Sandbox state change in progress"};
  if (sandbox->state == "creating" || sandbox->state == "starting" || sandbox->state == "stopping") {
    throw Refused{409, "Sandbox is not in a valid state to be destroyed"};
  }
  if (const Fault* linger = call.fault(Fault::Kind::kLinger)) sandbox->linger_looks = linger->looks;
  if (const Fault* flap = call.fault(Fault::Kind::kFlap)) sandbox->flap_looks = flap->looks;
  destroy(sandbox);
  co_return answer(*sandbox);
}

// The name is free at once; the sandbox goes when it goes.
void Daytona::destroy(SandboxPointer sandbox) {
  sandbox->name = "DESTROYED_" + sandbox->name + "_" + std::to_string(now_ms());
  sandbox->desired = "destroyed";
  sandbox->updated_at = now_text();
  if (sandbox->timer != nullptr) sandbox->timer->cancel();
  boost::asio::co_spawn(machines_.executor(), finish_destroying(std::move(sandbox)), boost::asio::detached);
}

Task<void> Daytona::finish_destroying(SandboxPointer sandbox) {
  sandbox->state = "destroying";
  bool ended = true;
  if (sandbox->guest != nullptr) ended = co_await sandbox->guest->end();
  if (!ended) {
    sandbox->state = "error";
    sandbox->error_reason = "its machine did not end";
    co_return;
  }
  sandbox->state = "destroyed";
}

}  // namespace berth::standins::daytona
