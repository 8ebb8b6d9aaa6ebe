// Sessions: looking at them, ending them, and what is kept of one that ends.
#include <algorithm>
#include <utility>

#include "tests/standins/vercel/vercel.h"

namespace berth::standins::vercel {
namespace {

constexpr std::int64_t kExpirationDefaultMs = 7 * 86'400'000LL;

}  // namespace

void Vercel::add_sessions() {
  add("GET /v2/sandboxes/sessions", &Vercel::list_sessions);
  add("GET /v2/sandboxes/sessions/{session}", &Vercel::get_session);
  add("POST /v2/sandboxes/sessions/{session}/stop", &Vercel::stop);
  add("POST /v2/sandboxes/sessions/{session}/extend-timeout", &Vercel::extend);
  add("POST /v2/sandboxes/sessions/{session}/network-policy", &Vercel::set_policy);
  add("POST /v2/sandboxes/sessions/{session}/snapshot", &Vercel::make_snapshot);
  // Behind the paths that are words: any other name is a sandbox'.
  add("GET /v2/sandboxes/{name}", &Vercel::get);
  add("PATCH /v2/sandboxes/{name}", &Vercel::update);
  add("DELETE /v2/sandboxes/{name}", &Vercel::remove);
  add("POST /v2/sandboxes/{name}/fork", &Vercel::fork);
}

boost::json::object Vercel::dto(const Session& session) const {
  boost::json::object object{{"id", session.id},
                             {"memory", session.vcpus * 2048},
                             {"vcpus", session.vcpus},
                             {"region", session.region},
                             {"cwd", kWorkFolder},
                             {"timeout", session.timeout_ms},
                             {"status", session.state_looks > 0 ? session.shown_state : session.status},
                             {"requestedAt", session.created_at},
                             {"startedAt", session.created_at},
                             {"createdAt", session.created_at},
                             {"updatedAt", session.updated_at}};
  if (!session.runtime.empty()) object["runtime"] = session.runtime;
  if (!session.source_snapshot.empty()) object["sourceSnapshotId"] = session.source_snapshot;
  if (session.stopped_at != 0) {
    object["requestedStopAt"] = session.stop_requested_at;
    object["stoppedAt"] = session.stopped_at;
    object["duration"] = session.stopped_at - session.created_at;
  }
  if (!session.policy.empty()) object["networkPolicy"] = shown_policy(session.policy);
  object["projectId"] = session.project;
  object["sourceSandboxName"] = session.sandbox_name;
  return object;
}

Task<Response> Vercel::list_sessions(Call& call) {
  boost::json::array items;
  for (const SandboxPointer& sandbox : sandboxes_) {
    if (sandbox->deleted || sandbox->project != call.request.parameter("project")) continue;
    const std::string_view name = call.request.parameter("name");
    if (!name.empty() && sandbox->name != name) continue;
    for (const SessionPointer& one : sandbox->sessions) items.insert(items.begin(), dto(*one));
  }
  co_return json_answer(200, page(call, "sessions", items));
}

Task<Response> Vercel::get_session(Call& call) {
  const SessionPointer found = session(call);
  boost::json::object body{{"session", dto(*found)}, {"routes", routes(*of_session(*found))}};
  if (found->state_looks > 0) --found->state_looks;
  co_return json_answer(200, body);
}

// Everything in the work folder; empty when it cannot be read.
Task<std::string> Vercel::archive_of(SessionPointer session) {
  Program program;
  program.argv = {"/bin/tar", "-cf", "-", "-C", kWorkFolder, "."};
  const std::shared_ptr<Job> job = co_await session->guest->finish(std::move(program));
  std::string archive;
  if (job->exit_code() == 0) archive = job->transcript.of(kOut);
  co_return archive;
}

Task<SnapshotPointer> Vercel::take(SessionPointer session, std::string method, std::int64_t expiration_ms) {
  const SandboxPointer sandbox = of_session(*session);
  auto made = std::make_shared<Snapshot>();
  made->archive = co_await archive_of(session);
  made->id = fresh_id("snap");
  made->session_id = session->id;
  made->sandbox_name = session->sandbox_name;
  made->project = session->project;
  made->method = std::move(method);
  made->parent = sandbox->snapshot;
  made->created_at = now_ms();
  if (expiration_ms > 0) made->expires_at = made->created_at + expiration_ms;
  snapshots_.push_back(made);
  sandbox->snapshot = made->id;
  co_return made;
}

// The real sandbox is gone when this comes back. What is persistent leaves a snapshot.
Task<void> Vercel::end_session(SessionPointer session, std::string status) {
  if (session->stop_requested_at != 0) co_return;
  // What still boots ends itself when it finds this.
  session->stop_requested_at = now_ms();
  if (session->guest == nullptr) co_return;
  session->status = "stopping";
  if (session->end != nullptr) session->end->cancel();
  if (of_session(*session)->persistent && session->guest->alive()) {
    std::string method = "automatic";
    co_await take(session, std::move(method), kExpirationDefaultMs);
  }
  co_await session->guest->end();
  session->status = std::move(status);
  session->stopped_at = session->updated_at = now_ms();
}

Task<Response> Vercel::stop(Call& call) {
  const SessionPointer found = session(call);
  if (found->status == "stopped") {
    throw Refused{410, "sandbox_stopped", "Sandbox has stopped execution and is no longer available"};
  }
  if (found->status == "stopping") throw Refused{422, "sandbox_stopping", "Sandbox is stopping"};
  const std::size_t before = snapshots_.size();
  co_await end_session(found, "stopped");
  const SandboxPointer sandbox = of_session(*found);
  boost::json::object body{{"session", dto(*found)}, {"sandbox", dto(*sandbox)}};
  if (snapshots_.size() > before) body["snapshot"] = dto(*snapshots_.back());
  co_return json_answer(200, body);
}

Task<Response> Vercel::extend(Call& call) {
  const SessionPointer found = running(call);
  const std::int64_t more = number_of(body_of(call.request), "duration", 0);
  if (more < 1000) throw Refused{400, "bad_request", "duration must be at least 1000"};
  if (found->timeout_ms + more > kTimeoutMostMs) {
    throw Refused{400, "sandbox_timeout_invalid",
                  "The requested timeout extension would exceed the maximum execution timeout"};
  }
  found->timeout_ms += more;
  found->updated_at = now_ms();
  arm(found);
  boost::json::object body{{"session", dto(*found)}};
  co_return json_answer(200, body);
}

Task<Response> Vercel::set_policy(Call& call) {
  const SessionPointer found = running(call);
  found->policy = body_of(call.request);
  found->updated_at = now_ms();
  boost::json::object body{{"session", dto(*found)}};
  co_return json_answer(200, body);
}

// It ends the session, always.
Task<Response> Vercel::make_snapshot(Call& call) {
  const SessionPointer found = running(call);
  const std::int64_t expiration = number_of(body_of(call.request), "expiration", kExpirationDefaultMs);
  found->status = "snapshotting";
  found->stop_requested_at = now_ms();
  if (found->end != nullptr) found->end->cancel();
  std::string method = "manual";
  const SnapshotPointer made = co_await take(found, std::move(method), expiration);
  co_await found->guest->end();
  found->status = "stopped";
  found->stopped_at = found->updated_at = now_ms();
  boost::json::object body{{"snapshot", dto(*made)}, {"session", dto(*found)}};
  co_return json_answer(201, body);
}

}  // namespace berth::standins::vercel
