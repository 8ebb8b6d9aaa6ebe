// What is kept apart from sandboxes: snapshots and volumes.
#include <algorithm>
#include <utility>

#include "tests/standins/daytona/daytona.h"

namespace berth::standins::daytona {
void Daytona::add_stored() {
  add("POST /snapshots", &Daytona::create_snapshot);
  add("GET /snapshots", &Daytona::list_snapshots);
  add("GET /snapshots/{id}", &Daytona::get_snapshot);
  add("DELETE /snapshots/{id}", &Daytona::delete_snapshot);
  add("POST /snapshots/{id}/activate", &Daytona::set_snapshot_active);
  add("POST /snapshots/{id}/deactivate", &Daytona::set_snapshot_active);
  add("POST /volumes", &Daytona::create_volume);
  add("GET /volumes", &Daytona::list_volumes);
  add("GET /volumes/by-name/{name}", &Daytona::get_volume_by_name);
  add("GET /volumes/{id}", &Daytona::get_volume);
  add("DELETE /volumes/{id}", &Daytona::delete_volume);
  add("GET /config", &Daytona::config);
  add("GET /api-keys/current", &Daytona::current_key);
  add("GET /health", &Daytona::health);
}

Snapshot* Daytona::find_snapshot(std::string_view id_or_name) {
  const auto found = std::find_if(snapshots_.begin(), snapshots_.end(), [&](const Snapshot& one) {
    return one.id == id_or_name || one.name == id_or_name;
  });
  return found == snapshots_.end() ? nullptr : &*found;
}

boost::json::object Daytona::dto(const Snapshot& snapshot) const {
  return {{"id", snapshot.id},         {"organizationId", "org-1"}, {"general", false},
          {"name", snapshot.name},     {"imageName", snapshot.image}, {"state", snapshot.state},
          {"size", snapshot.archive.size()}, {"entrypoint", nullptr}, {"cpu", 1},
          {"gpu", 0},                  {"mem", 1},                  {"disk", 3},
          {"errorReason", nullptr},    {"createdAt", snapshot.created_at},
          {"updatedAt", snapshot.created_at}, {"lastUsedAt", nullptr}};
}

Task<Response> Daytona::create_snapshot(Call& call) {
  const boost::json::object body = body_of(call.request);
  Snapshot snapshot;
  snapshot.id = fresh_id();
  snapshot.name = text_of(body, "name");
  snapshot.image = text_of(body, "imageName");
  snapshot.created_at = now_text();
  if (snapshot.name.empty()) throw Refused{400, "name should not be empty"};
  if (find_snapshot(snapshot.name) != nullptr) {
    throw Refused{409, "Snapshot with name " + snapshot.name + " already exists"};
  }
  const bool tagged = snapshot.image.find(':') != std::string::npos && !snapshot.image.ends_with(":latest");
  if (!tagged && !body.contains("buildInfo")) {
    throw Refused{400, "Image name must include a tag or digest, and not latest"};
  }
  // Every sandbox has this machine's own system, so there is nothing to pull; it is active when asked again.
  boost::json::object made = dto(snapshot);
  made["state"] = "pending";
  snapshots_.push_back(std::move(snapshot));
  co_return json_answer(200, made);
}

Task<Response> Daytona::list_snapshots(Call& call) {
  const std::size_t page = std::max<std::size_t>(1, number(call.request.parameter("page"), 1));
  const std::size_t limit = std::max<std::size_t>(1, number(call.request.parameter("limit"), 10));
  boost::json::array items;
  for (std::size_t i = (page - 1) * limit; i < std::min(snapshots_.size(), page * limit); ++i) {
    items.push_back(dto(snapshots_[i]));
  }
  boost::json::object body{{"items", std::move(items)},
                           {"total", snapshots_.size()},
                           {"page", page},
                           {"totalPages", (snapshots_.size() + limit - 1) / limit}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::get_snapshot(Call& call) {
  const Snapshot* snapshot = find_snapshot(call.parameters[0]);
  if (snapshot == nullptr) throw Refused{404, "Snapshot with ID or name " + call.parameters[0] + " not found"};
  co_return json_answer(200, dto(*snapshot));
}

Task<Response> Daytona::delete_snapshot(Call& call) {
  const Snapshot* snapshot = find_snapshot(call.parameters[0]);
  if (snapshot == nullptr) throw Refused{404, "Snapshot with ID or name " + call.parameters[0] + " not found"};
  const std::string id = snapshot->id;
  std::erase_if(snapshots_, [&](const Snapshot& one) { return one.id == id; });
  co_return empty_answer(200);
}

Task<Response> Daytona::set_snapshot_active(Call& call) {
  Snapshot* snapshot = find_snapshot(call.parameters[0]);
  if (snapshot == nullptr) throw Refused{404, "Snapshot with ID or name " + call.parameters[0] + " not found"};
  const bool active = call.request.segments.back() == "activate";
  snapshot->state = active ? "active" : "inactive";
  if (!active) co_return empty_answer(204);
  co_return json_answer(200, dto(*snapshot));
}

// Ready when asked again, as snapshots are active.
Task<Response> Daytona::create_volume(Call& call) {
  boost::json::object volume{{"id", fresh_id()},
                             {"name", text_of(body_of(call.request), "name")},
                             {"organizationId", "org-1"},
                             {"state", "ready"},
                             {"createdAt", now_text()},
                             {"updatedAt", now_text()},
                             {"errorReason", nullptr}};
  for (const auto& one : volumes_) {
    if (one.at("name") == volume["name"]) throw Refused{409, "Volume already exists"};
  }
  volumes_.push_back(volume);
  volume["state"] = "pending_create";
  co_return json_answer(200, volume);
}

Task<Response> Daytona::list_volumes(Call&) {
  boost::json::array body;
  for (const auto& one : volumes_) body.push_back(one);
  co_return json_answer(200, body);
}

Task<Response> Daytona::get_volume(Call& call) {
  for (const auto& one : volumes_) {
    if (text_of(one, "id") == call.parameters[0]) co_return json_answer(200, one);
  }
  throw Refused{404, "Volume with ID " + call.parameters[0] + " not found"};
}

Task<Response> Daytona::get_volume_by_name(Call& call) {
  for (const auto& one : volumes_) {
    if (text_of(one, "name") == call.parameters[0]) co_return json_answer(200, one);
  }
  throw Refused{404, "Volume with name " + call.parameters[0] + " not found"};
}

Task<Response> Daytona::delete_volume(Call& call) {
  const auto count = std::erase_if(volumes_, [&](const auto& one) { return text_of(one, "id") == call.parameters[0]; });
  if (count == 0) throw Refused{404, "Volume with ID " + call.parameters[0] + " not found"};
  co_return empty_answer(200);
}

Task<Response> Daytona::config(Call&) {
  boost::json::object body{{"version", "0.205.1"},
                           {"defaultSnapshot", "daytona-small"},
                           {"proxyTemplateUrl", "https://{{PORT}}-{{sandboxId}}.preview.invalid"},
                           {"proxyToolboxUrl", toolbox_}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::current_key(Call&) {
  boost::json::object body{{"name", "standin"},
                           {"value", "dtn_***"},
                           {"createdAt", now_text()},
                           {"permissions", boost::json::array({"write:sandboxes", "delete:sandboxes"})},
                           {"lastUsedAt", now_text()},
                           {"expiresAt", nullptr},
                           {"userId", "user-1"}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::health(Call&) {
  boost::json::object body{{"status", "ok"}};
  co_return json_answer(200, body);
}

}  // namespace berth::standins::daytona
