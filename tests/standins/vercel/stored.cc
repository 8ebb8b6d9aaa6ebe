// What is kept apart from sandboxes: snapshots and drives.
#include <algorithm>
#include <utility>

#include "tests/standins/vercel/vercel.h"

namespace berth::standins::vercel {
namespace {

constexpr std::int64_t kDriveBytesDefault = std::int64_t{1} << 40;

}  // namespace

void Vercel::add_stored() {
  add("GET /v2/sandboxes/snapshots", &Vercel::list_snapshots);
  add("GET /v2/sandboxes/snapshots/tree", &Vercel::snapshot_tree);
  add("GET /v2/sandboxes/snapshots/{id}", &Vercel::get_snapshot);
  add("DELETE /v2/sandboxes/snapshots/{id}", &Vercel::delete_snapshot);
  add("GET /v2/sandboxes/drives", &Vercel::list_drives);
  add("POST /v2/sandboxes/drives/{name}", &Vercel::make_drive);
  add("DELETE /v2/sandboxes/drives/{name}", &Vercel::delete_drive);
}

boost::json::object Vercel::dto(const Snapshot& snapshot) const {
  boost::json::object object{{"id", snapshot.id},
                             {"sourceSessionId", snapshot.session_id},
                             {"region", "iad1"},
                             {"regions", boost::json::array({"iad1"})},
                             {"status", snapshot.status},
                             {"sizeBytes", snapshot.archive.size()},
                             {"createdAt", snapshot.created_at},
                             {"updatedAt", snapshot.created_at},
                             {"lastUsedAt", snapshot.created_at},
                             {"creationMethod", snapshot.method}};
  if (snapshot.expires_at != 0) object["expiresAt"] = snapshot.expires_at;
  if (!snapshot.parent.empty()) object["parentId"] = snapshot.parent;
  return object;
}

SnapshotPointer Vercel::snapshot(std::string_view id) const {
  for (const SnapshotPointer& one : snapshots_) {
    if (one->id == id) return one;
  }
  throw Refused{410, "snapshot_not_found", "Snapshot not found"};
}

Task<Response> Vercel::list_snapshots(Call& call) {
  boost::json::array items;
  for (const SnapshotPointer& one : snapshots_) {
    const std::string_view name = call.request.parameter("name");
    const bool fits = one->project == call.request.parameter("project") && one->status != "deleted" &&
                      (name.empty() || one->sandbox_name == name);
    if (fits) items.insert(items.begin(), dto(*one));
  }
  co_return json_answer(200, page(call, "snapshots", items));
}

// From a snapshot to what it was made of, one after the other.
Task<Response> Vercel::snapshot_tree(Call& call) {
  SnapshotPointer at;
  for (const SnapshotPointer& one : snapshots_) {
    if (one->id == call.request.parameter("snapshotId")) at = one;
  }
  if (at == nullptr) throw Refused{404, "not_found", "Snapshot not found"};
  const auto node = [&](const Snapshot& one) {
    boost::json::array siblings;
    for (const SnapshotPointer& other : snapshots_) {
      if (other->id != one.id && !one.parent.empty() && other->parent == one.parent) siblings.push_back(dto(*other));
    }
    const std::string count = std::to_string(siblings.size());
    return boost::json::object{{"snapshot", dto(one)}, {"siblings", std::move(siblings)}, {"count", count}};
  };
  boost::json::object anchor = node(*at);
  boost::json::array items;
  while (!at->parent.empty()) {
    at = snapshot(at->parent);
    items.push_back(node(*at));
  }
  boost::json::object body = page(call, "snapshots", items);
  body["anchor"] = std::move(anchor);
  co_return json_answer(200, body);
}

Task<Response> Vercel::get_snapshot(Call& call) {
  for (const SnapshotPointer& one : snapshots_) {
    if (one->id != call.parameters[0]) continue;
    boost::json::object body{{"snapshot", dto(*one)}};
    co_return json_answer(200, body);
  }
  throw Refused{404, "not_found", "Snapshot not found"};
}

Task<Response> Vercel::delete_snapshot(Call& call) {
  for (const SnapshotPointer& one : snapshots_) {
    if (one->id != call.parameters[0] || one->status == "deleted") continue;
    one->status = "deleted";
    boost::json::object body{{"snapshot", dto(*one)}};
    co_return json_answer(200, body);
  }
  throw Refused{404, "not_found", "Snapshot not found"};
}

Task<Response> Vercel::list_drives(Call& call) {
  boost::json::array items;
  for (const auto& one : drives_) {
    const bool fits = text_of(one, "projectId") == call.request.parameter("projectId") &&
                      text_of(one, "name").starts_with(call.request.parameter("namePrefix"));
    if (fits) items.push_back(one);
  }
  co_return json_answer(200, page(call, "drives", items));
}

Task<Response> Vercel::make_drive(Call& call) {
  const boost::json::object body = body_of(call.request);
  for (const auto& one : drives_) {
    if (text_of(one, "name") != call.parameters[0]) continue;
    boost::json::object answer{{"drive", one}};
    co_return json_answer(200, answer);
  }
  boost::json::object drive{{"id", fresh_id("drv")},
                            {"name", call.parameters[0]},
                            {"projectId", text_of(body, "projectId")},
                            {"region", text_of(body, "region", "iad1")},
                            {"maxSizeBytes", number_of(body, "maxSizeBytes", kDriveBytesDefault)},
                            {"createdAt", now_ms()},
                            {"updatedAt", now_ms()}};
  drives_.push_back(drive);
  boost::json::object answer{{"drive", std::move(drive)}};
  co_return json_answer(201, answer);
}

Task<Response> Vercel::delete_drive(Call& call) {
  const auto found = std::find_if(drives_.begin(), drives_.end(),
                                  [&](const auto& one) { return text_of(one, "name") == call.parameters[0]; });
  if (found == drives_.end()) throw Refused{404, "not_found", "Drive not found"};
  for (const SandboxPointer& sandbox : sandboxes_) {
    if (sandbox->deleted || sandbox->current().status != "running") continue;
    for (const auto& [path, mount] : object_of(sandbox->shape, "mounts")) {
      if (text_of(mount.as_object(), "drive") == call.parameters[0]) {
        throw Refused{409, "conflict", "Drive is attached to a sandbox"};
      }
    }
  }
  boost::json::object answer{{"drive", *found}};
  drives_.erase(found);
  co_return json_answer(200, answer);
}

}  // namespace berth::standins::vercel
