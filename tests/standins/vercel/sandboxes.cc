// Making, finding, changing and removing sandboxes, and the sessions they run as.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <charconv>
#include <utility>

#include "tests/standins/vercel/vercel.h"

namespace berth::standins::vercel {
namespace {

constexpr std::int64_t kTimeoutDefaultMs = 300'000;
constexpr std::size_t kPortsMost = 15;
constexpr std::size_t kTagsMost = 5;
constexpr std::int64_t kMegabytesPerCpu = 2048;
constexpr Duration kGuestLife = std::chrono::hours(23);

Refused bad(std::string message) { return {400, "bad_request", std::move(message)}; }

boost::json::array array_of(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : boost::json::array();
}

bool good_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

void sort_by(std::vector<SandboxPointer>* all, std::string_view by, bool ascending) {
  const auto key = [by](const SandboxPointer& one) {
    if (by == "name") return one->name;
    std::string when = std::to_string(by == "statusUpdatedAt" ? one->current().updated_at : one->created_at);
    return when;
  };
  std::stable_sort(all->begin(), all->end(), [&](const SandboxPointer& a, const SandboxPointer& b) {
    return ascending ? key(a) < key(b) : key(b) < key(a);
  });
}

}  // namespace

void Vercel::add_sandboxes() {
  add("POST /v3/sandboxes", &Vercel::create);
  add("POST /v2/sandboxes", &Vercel::create);
  add("GET /v2/sandboxes", &Vercel::list);
}

boost::json::object Vercel::dto(const Sandbox& sandbox) const {
  boost::json::object object{{"name", sandbox.name}, {"persistent", sandbox.persistent}};
  for (const auto& [key, value] : sandbox.shape) object[key] = value;
  const Session& session = sandbox.current();
  object["createdAt"] = sandbox.created_at;
  object["updatedAt"] = sandbox.updated_at;
  object["currentSessionId"] = session.id;
  if (!sandbox.snapshot.empty()) object["currentSnapshotId"] = sandbox.snapshot;
  object["status"] = session.state_looks > 0 ? session.shown_state : session.status;
  object["statusUpdatedAt"] = session.updated_at;
  object["cwd"] = kWorkFolder;
  if (session.status == "running") object["expiresAt"] = session.created_at + session.timeout_ms;
  if (!sandbox.policy.empty()) object["networkPolicy"] = shown_policy(sandbox.policy);
  return object;
}

boost::json::array Vercel::routes(const Sandbox& sandbox) const {
  boost::json::array list;
  for (const auto& port : sandbox.ports) {
    const std::string subdomain = "sb-" + sandbox.name + "-" + std::to_string(port.as_int64());
    list.push_back(boost::json::object{
        {"url", "https://" + subdomain + ".vercel.invalid"}, {"subdomain", subdomain}, {"port", port}});
  }
  return list;
}

boost::json::object Vercel::whole(const Sandbox& sandbox) const {
  return {{"sandbox", dto(sandbox)}, {"session", dto(sandbox.current())}, {"routes", routes(sandbox)}};
}

void Vercel::check_create(const boost::json::object& body, bool legacy) const {
  if (text_of(body, "projectId").empty()) throw bad("projectId is required");
  const boost::json::object source = object_of(body, "source");
  const bool from_snapshot = text_of(source, "type") == "snapshot";
  if (body.contains("runtime") && (body.contains("image") || from_snapshot)) {
    throw bad("runtime cannot be combined with an image or a snapshot");
  }
  if (body.contains("runtime") && !legacy) throw bad("runtime is not taken here");
  if (array_of(body, "ports").size() > kPortsMost) throw bad("At most 15 ports can be exposed");
  if (object_of(body, "tags").size() > kTagsMost) throw bad("At most 5 tags can be set");
  const std::int64_t vcpus = number_of(object_of(body, "resources"), "vcpus", 2);
  if (vcpus < 1 || vcpus > 32 || (vcpus != 1 && vcpus % 2 != 0)) throw bad("vcpus must be 1 or an even number");
  const std::int64_t timeout = number_of(body, "timeout", kTimeoutDefaultMs);
  if (timeout < 1000 || timeout > kTimeoutMostMs) throw bad("timeout is out of range");
  const std::string name = text_of(body, "name");
  if (!good_name(name)) throw bad("name must be URL-safe");
  for (const SandboxPointer& one : sandboxes_) {
    if (!name.empty() && !one->deleted && one->name == name && one->project == text_of(body, "projectId")) {
      throw bad("Sandbox with name '" + name + "' already exists. Use GET /sandboxes/:name to resume it.");
    }
  }
  for (const auto& [path, mount] : object_of(body, "mounts")) {
    const std::string drive = text_of(mount.as_object(), "drive");
    const bool known = std::any_of(drives_.begin(), drives_.end(),
                                   [&](const auto& one) { return text_of(one, "name") == drive; });
    if (!known) throw Refused{404, "not_found", "Drive '" + drive + "' not found"};
  }
}

SandboxPointer Vercel::keep(const boost::json::object& body, std::string project) {
  auto sandbox = std::make_shared<Sandbox>();
  sandbox->name = text_of(body, "name");
  if (sandbox->name.empty()) sandbox->name = fresh_id("sandbox");
  sandbox->project = std::move(project);
  sandbox->persistent = flag_of(body, "persistent", true);
  sandbox->policy = object_of(body, "networkPolicy");
  sandbox->environment = object_of(body, "env");
  sandbox->ports = array_of(body, "ports");
  sandbox->created_at = sandbox->updated_at = now_ms();
  const std::int64_t vcpus = number_of(object_of(body, "resources"), "vcpus", number_of(body, "vcpus", 2));
  boost::json::object& shape = sandbox->shape;
  shape["region"] = text_of(body, "region", "iad1");
  shape["failoverRegions"] = array_of(body, "failoverRegions");
  shape["vcpus"] = vcpus;
  shape["memory"] = vcpus * kMegabytesPerCpu;
  if (body.contains("runtime")) {
    shape["runtime"] = text_of(body, "runtime");
  } else {
    shape["image"] = text_of(body, "image", "vercel/sandbox/universal") + "@sha256:00";
  }
  shape["timeout"] = number_of(body, "timeout", kTimeoutDefaultMs);
  for (const std::string_view key : {"tags", "mounts", "snapshotExpiration", "keepLastSnapshots", "networkId"}) {
    if (const auto* value = body.if_contains(key)) shape[key] = *value;
  }
  sandboxes_.push_back(sandbox);
  return sandbox;
}

Task<void> Vercel::boot(SandboxPointer sandbox, std::string archive) {
  auto session = std::make_shared<Session>();
  session->id = fresh_id("sbx");
  session->sandbox_name = sandbox->name;
  session->project = sandbox->project;
  session->vcpus = number_of(sandbox->shape, "vcpus", 2);
  session->region = text_of(sandbox->shape, "region", "iad1");
  session->runtime = text_of(sandbox->shape, "runtime");
  session->policy = sandbox->policy;
  session->timeout_ms = number_of(sandbox->shape, "timeout", kTimeoutDefaultMs);
  session->created_at = session->updated_at = now_ms();
  session->source_snapshot = sandbox->snapshot;
  sandbox->sessions.push_back(session);
  Environment environment;
  for (const auto& [name, value] : sandbox->environment) {
    environment.emplace_back(std::string(name), std::string(value.as_string()));
  }
  auto guest = co_await Guest::start(machines_, std::move(environment), kGuestLife);
  if (!guest) {
    session->status = "failed";
    co_return;
  }
  if (session->stop_requested_at != 0) {
    co_await (*guest)->end();
    session->status = "stopped";
    session->stopped_at = session->updated_at = now_ms();
    co_return;
  }
  session->guest = *guest;
  if (!archive.empty()) {
    Program program;
    program.argv = {"/bin/tar", "-xf", "-", "-C", kWorkFolder};
    co_await session->guest->finish(std::move(program), std::move(archive));
  }
  session->status = "running";
  arm(session);
}

// A session ends at its timeout, whatever it does.
void Vercel::arm(SessionPointer session) {
  if (session->end == nullptr) {
    session->end = std::make_shared<boost::asio::steady_timer>(machines_.executor());
  }
  const std::int64_t left = session->created_at + session->timeout_ms - now_ms();
  session->end->expires_after(std::chrono::milliseconds(std::max<std::int64_t>(left, 0)));
  session->end->async_wait([this, session](const boost::system::error_code& error) {
    if (error || session->status != "running") return;
    boost::asio::co_spawn(machines_.executor(), end_session(session, "stopped"), boost::asio::detached);
  });
}

Task<Response> Vercel::create(Call& call) {
  const boost::json::object body = body_of(call.request);
  check_create(body, call.request.segments[1] == "v2");
  const boost::json::object source = object_of(body, "source");
  std::string archive;
  if (text_of(source, "type") == "snapshot") {
    const SnapshotPointer from = snapshot(text_of(source, "snapshotId"));
    if (from->status != "created") throw Refused{410, "snapshot_not_found", "Snapshot not found"};
    archive = from->archive;
  }
  const SandboxPointer sandbox = keep(body, text_of(body, "projectId"));
  if (const Fault* hide = call.fault(Fault::Kind::kHide)) sandbox->hidden_looks = hide->looks;
  co_await boot(sandbox, std::move(archive));
  if (const Fault* shown = call.fault(Fault::Kind::kState)) {
    sandbox->current().shown_state = shown->state;
    sandbox->current().state_looks = shown->looks;
  }
  co_return json_answer(200, whole(*sandbox));
}

Task<Response> Vercel::get(Call& call) {
  const SandboxPointer sandbox = find(call);
  bool resumed = false;
  const bool over = sandbox->current().status == "stopped";
  if (over && call.request.parameter("resume") == "true" && !sandbox->deleted) {
    std::string archive;
    const bool kept = sandbox->persistent && !sandbox->snapshot.empty();
    SnapshotPointer from;
    if (kept) from = snapshot(sandbox->snapshot);
    if (from == nullptr || from->status != "created") {
      throw Refused{410, "snapshot_not_found", "Cannot resume sandbox: no snapshot available."};
    }
    archive = from->archive;
    co_await boot(sandbox, std::move(archive));
    resumed = true;
  }
  boost::json::object body = whole(*sandbox);
  if (resumed) body["resumed"] = true;
  if (sandbox->current().state_looks > 0) --sandbox->current().state_looks;
  co_return json_answer(200, body);
}

Task<Response> Vercel::list(Call& call) {
  const Request& request = call.request;
  const std::string_view by = request.parameter("sortBy");
  const std::string_view prefix = request.parameter("namePrefix");
  if (!prefix.empty() && by != "name") throw bad("namePrefix needs sortBy=name");
  const std::string_view status = request.parameter("status");
  if (!status.empty() && !by.empty() && by != "createdAt") throw bad("status needs sortBy=createdAt");
  std::string tag(request.parameter("tags"));
  const std::size_t colon = tag.find(':');
  std::vector<SandboxPointer> matching;
  for (const SandboxPointer& one : sandboxes_) {
    bool fits = one->project == request.parameter("project") && one->name.starts_with(prefix) &&
                (status.empty() || one->current().status == status);
    if (!tag.empty() && fits) {
      const boost::json::object tags = object_of(one->shape, "tags");
      fits = text_of(tags, tag.substr(0, colon)) == tag.substr(std::min(tag.size(), colon + 1));
    }
    if (!fits) continue;
    const bool flaps = one->deleted && one->flap_looks > 0;
    if (flaps) --one->flap_looks;
    if (flaps || look(one.get())) matching.push_back(one);
  }
  sort_by(&matching, by, request.parameter("sortOrder") == "asc");
  boost::json::array items;
  for (const SandboxPointer& one : matching) items.push_back(dto(*one));
  co_return json_answer(200, page(call, "sandboxes", items));
}

// It changes what the next session is.
Task<Response> Vercel::update(Call& call) {
  const SandboxPointer sandbox = find(call);
  const boost::json::object body = body_of(call.request);
  if (object_of(body, "tags").size() > kTagsMost) throw bad("At most 5 tags can be set");
  for (const std::string_view key : {"tags", "timeout", "mounts", "snapshotExpiration", "keepLastSnapshots",
                                     "networkId", "region", "failoverRegions"}) {
    const auto* value = body.if_contains(key);
    if (value == nullptr) continue;
    if (value->is_null()) {
      sandbox->shape.erase(key);
    } else {
      sandbox->shape[key] = *value;
    }
  }
  if (body.contains("networkPolicy")) sandbox->policy = object_of(body, "networkPolicy");
  if (body.contains("env")) sandbox->environment = object_of(body, "env");
  if (body.contains("ports")) sandbox->ports = array_of(body, "ports");
  if (body.contains("persistent")) sandbox->persistent = flag_of(body, "persistent", true);
  if (const std::string id = text_of(body, "currentSnapshotId"); !id.empty()) sandbox->snapshot = snapshot(id)->id;
  if (body.contains("resources")) {
    const std::int64_t vcpus = number_of(object_of(body, "resources"), "vcpus", 2);
    sandbox->shape["vcpus"] = vcpus;
    sandbox->shape["memory"] = vcpus * kMegabytesPerCpu;
  }
  sandbox->updated_at = now_ms();
  boost::json::object answer{{"sandbox", dto(*sandbox)}, {"routes", routes(*sandbox)}};
  co_return json_answer(200, answer);
}

Task<Response> Vercel::remove(Call& call) {
  const SandboxPointer sandbox = find(call);
  if (sandbox->deleted) throw Refused{404, "not_found", "Named sandbox '" + sandbox->name + "' not found for this project."};
  const SessionPointer session = sandbox->sessions.back();
  // What makes a snapshot when it stops makes none when it is removed.
  sandbox->persistent = false;
  co_await end_session(session, "stopped");
  if (call.request.parameter("deleteOrphanSnapshots") == "true") {
    for (const SnapshotPointer& one : snapshots_) {
      if (one->sandbox_name == sandbox->name && one->project == sandbox->project) one->status = "deleted";
    }
  }
  if (const Fault* linger = call.fault(Fault::Kind::kLinger)) sandbox->linger_looks = linger->looks;
  if (const Fault* flap = call.fault(Fault::Kind::kFlap)) sandbox->flap_looks = flap->looks;
  sandbox->deleted = true;
  boost::json::object body{{"sandbox", dto(*sandbox)}};
  co_return json_answer(200, body);
}

Task<Response> Vercel::fork(Call& call) {
  const SandboxPointer source = find(call);
  boost::json::object body = source->shape;
  body["env"] = source->environment;
  body["networkPolicy"] = source->policy;
  body["ports"] = source->ports;
  for (const auto& [key, value] : body_of(call.request)) body[key] = value;
  body["projectId"] = source->project;
  if (!object_of(body_of(call.request), "resources").empty()) body.erase("vcpus");
  std::string image = text_of(body, "image");
  if (const std::size_t digest = image.find('@'); digest != std::string::npos) body["image"] = image.substr(0, digest);
  check_create(body, true);
  std::string archive;
  if (source->current().status == "running") {
    archive = co_await archive_of(source->sessions.back());
  } else if (!source->snapshot.empty()) {
    archive = snapshot(source->snapshot)->archive;
  }
  const SandboxPointer made = keep(body, source->project);
  co_await boot(made, std::move(archive));
  co_return json_answer(200, whole(*made));
}

}  // namespace berth::standins::vercel
