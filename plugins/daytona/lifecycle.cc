#include "plugins/daytona/lifecycle.h"

#include "plugins/daytona/create_body.h"

namespace berth::daytona {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kCreatePatience{45};  // the service itself waits thirty
constexpr seconds kStartPatience{120};  // without a deadline of the operation
constexpr seconds kEndPatience{30};     // for what did not start
constexpr seconds kLostPatience{12};    // answers that there is none are cached for ten seconds
constexpr seconds kMargin{2};           // kept for saying what became of it

std::string shown(const Sandbox& sandbox) {
  return "sandbox " + sandbox.name + " (" + sandbox.id + ", state " + sandbox.state + ")";
}

}  // namespace

Awaitable<ProbeReport> Lifecycle::probe(AsyncOperation& operation) {
  ProbeReport report;
  report.backend = "Daytona at " + api_.settings().api.shown();
  ProbeItem item{"api", false, "", ""};
  try {
    const Url url = api_.sandboxes().with_query("limit", "1");
    const Answer answer =
        co_await api_.call(Method::kGet, url, kNoBody, until(operation, kCallPatience));
    item.ok = answer.ok() && answer.body.is_object();
    item.detail = item.ok ? "answers, and knows the key" : sentence(answer);
    if (answer.status == 401 || answer.status == 403)
      item.remedy = "set DAYTONA_API_KEY to a key of the organization that may manage sandboxes";
    else if (!item.ok)
      item.remedy = "look at the address of the api, DAYTONA_API_URL";
  } catch (const http::TransportFailure& failure) {
    if (failure.reason() == http::Reason::kCancelled) throw Operation::cancelled_failure();
    item.detail = failure.message();
    item.remedy = "look at the network, at DAYTONA_API_URL and at the authorities that are trusted";
  }
  report.usable = item.ok;
  report.items.push_back(std::move(item));
  if (report.usable) {
    ProbeItem image = co_await probe_image(operation, report.usable);
    report.items.push_back(std::move(image));
  }
  co_return report;
}

// What sandboxes are made of. Only the service's word that it cannot be used makes it unusable: a key
// need not be one that may look at snapshots.
Awaitable<ProbeItem> Lifecycle::probe_image(AsyncOperation& operation, bool& usable) {
  const std::string& snapshot = api_.settings().snapshot;
  ProbeItem item{"image", true, "", ""};
  if (snapshot.empty()) {
    item.detail = "the organization's default snapshot";
    co_return item;
  }
  if (is_image(snapshot)) {
    item.detail = "built from " + snapshot;
    co_return item;
  }
  item.ok = false;
  item.remedy = "set snapshot in the provider's configuration to an active one, or leave it out";
  try {
    const Url url = api_.settings().api / "snapshots" / snapshot;
    const Answer answer =
        co_await api_.call(Method::kGet, url, kNoBody, until(operation, kCallPatience));
    const auto* found = answer.ok() ? answer.body.if_object() : nullptr;
    const auto* state = found == nullptr ? nullptr : found->if_contains("state");
    if (state != nullptr && state->is_string()) {
      item.ok = state->get_string() == "active";
      item.detail = "snapshot " + snapshot + " is " +
                    api_.redacted(std::string_view(state->get_string()));
      usable = item.ok;
    } else {
      item.detail = answer.status == 404 ? "there is no snapshot " + snapshot
                                         : "snapshot " + snapshot + " was not seen: " + sentence(answer);
      usable = answer.status != 404;
    }
    if (item.ok) item.remedy.clear();
  } catch (const http::TransportFailure& failure) {
    if (failure.reason() == http::Reason::kCancelled) throw Operation::cancelled_failure();
    item.detail = failure.message();
  }
  co_return item;
}

Awaitable<Lifecycle::Look> Lifecycle::look(AsyncOperation& operation, std::string id_or_name) {
  Look out;
  try {
    const Url url = api_.sandbox(id_or_name);
    const Answer answer =
        co_await api_.call(Method::kGet, url, kNoBody, until(operation, kCallPatience));
    // Only the service's own words say that there is none, not a page of something before it.
    if (answer.status == 404 && answer.body.is_object()) {
      out.kind = Look::Kind::kAbsent;
      co_return out;
    }
    if (answer.ok()) out.sandbox = sandbox_of(answer.body);
    if (out.sandbox) {
      api_.remember(*out.sandbox);
      out.kind = phase_of(*out.sandbox) == Phase::kGone ? Look::Kind::kAbsent : Look::Kind::kThere;
      co_return out;
    }
    out.code = answer.ok() ? Code::kInternal : code_of(answer);
    out.why = answer.ok() ? answer.what + " described no sandbox" : sentence(answer);
  } catch (const http::TransportFailure& failure) {
    out.code = http::code_of(failure.reason());
    out.why = failure.message();
  }
  co_return out;
}

// Whoever does not own it must not touch it.
void Lifecycle::require_identity(const Sandbox& sandbox, const std::string& name) const {
  const bool same_name =
      sandbox.name == name || sandbox.name.starts_with("DESTROYED_" + name + "_");
  if (same_name && sandbox.organization == api_.settings().organization) return;
  throw Failure::uncertain(
      Code::kConflict,
      "Daytona sandbox identity does not match its allocation intent: " + shown(sandbox) +
          " of organization " + sandbox.organization + " was found for " + name);
}

Awaitable<Found> Lifecycle::lookup(AsyncOperation& operation, std::string name) {
  const Look seen = co_await look(operation, name);
  if (seen.kind == Look::Kind::kUnknown)
    throw Failure::uncertain(seen.code,
                             "it could not be found out whether " + name + " exists: " + seen.why);
  Found found;
  found.presence = Presence::kAbsentNow;
  if (seen.kind == Look::Kind::kAbsent) co_return found;
  found.presence = Presence::kPresent;
  found.state = state_of(*seen.sandbox);
  found.name = seen.sandbox->name;
  found.ref = seen.sandbox->id;
  found.scope = api_.settings().scope_of(seen.sandbox->organization);
  found.created_unix_ms = seen.sandbox->created_unix_ms;
  co_return found;
}

Awaitable<Created> Lifecycle::create(AsyncOperation& operation, std::string name,
                                     const CreateSpec& spec) {
  if (operation.cancelled())
    throw Failure::rejected(Code::kCancelled, "cancelled before anything was made");
  if (ended_.has(name))
    throw Failure::rejected(Code::kConflict, "the name " + name + " is used up: its sandbox ended");
  const std::string body = create_body(api_.settings(), name, spec);
  operation.stage("asking for a sandbox");
  std::optional<http::TransportFailure> failed;
  std::optional<Answer> answer;
  try {
    const Url url = api_.sandboxes();
    answer = co_await api_.call(Method::kPost, url, body, until(operation, kCreatePatience));
  } catch (const http::TransportFailure& failure) {
    failed = failure;
  }
  if (answer) co_return co_await after_answer(operation, *answer, name);
  if (failed->delivery() == http::Delivery::kNotSent) throw http::failure_of(*failed);
  co_return co_await adopt(operation, name, failed->message(), http::code_of(failed->reason()));
}

Awaitable<Created> Lifecycle::after_answer(AsyncOperation& operation, const Answer& answer,
                                           const std::string& name) {
  if (answer.ok()) {
    const auto sandbox = sandbox_of(answer.body);
    if (!sandbox)
      co_return co_await adopt(operation, name, answer.what + " described no sandbox",
                               Code::kInternal);
    require_identity(*sandbox, name);
    api_.remember(*sandbox);
    co_return co_await until_started(operation, *sandbox);
  }
  // The name is taken: by this very call, sent before, or else the identity says so.
  if (answer.status == 409)
    co_return co_await adopt(operation, name, sentence(answer), Code::kConflict);
  if (answer.status == 400) {
    // "Sandbox failed to start": refused, and yet there is a broken one that holds name and quota.
    const Look seen = co_await look(operation, name);
    if (seen.kind == Look::Kind::kThere) {
      require_identity(*seen.sandbox, name);
      const auto give_up = until(operation, kEndPatience) - kMargin;
      const End ended = co_await end(operation, *seen.sandbox, give_up);
      give_up_create(ended, code_of(answer), sentence(answer));
    }
    if (seen.kind == Look::Kind::kUnknown)
      throw Failure::failed_dirty(code_of(answer), sentence(answer) + "; " + seen.why);
  }
  const Failure failure = failure_of(answer);
  if (failure.outcome_class() == OutcomeClass::kRejected) throw failure;
  co_return co_await adopt(operation, name, sentence(answer), failure.code());
}

Awaitable<Lifecycle::Look> Lifecycle::look_until(AsyncOperation& operation, std::string name,
                                                 Clock::time_point end) {
  milliseconds pause = api_.settings().poll_first;
  for (;;) {
    const Look seen = co_await look(operation, name);
    if (seen.kind == Look::Kind::kThere || operation.cancelled() || Clock::now() + pause >= end)
      co_return seen;
    co_await api_.sleep(pause);
    pause = api_.settings().next_pause(pause);
  }
}

// What is always deleted is a create that failed: a broken sandbox holds its name and the quota.
void Lifecycle::give_up_create(const End& end, Code code, const std::string& why) const {
  if (end.gone) throw Failure::failed_clean(code, why);
  throw Failure::failed_dirty(code, why + "; it could not be deleted: " + end.why);
}

// The request may have made one. It is never sent again; it is only looked whether one is there.
Awaitable<Created> Lifecycle::adopt(AsyncOperation& operation, std::string name, std::string why,
                                    Code code) {
  operation.stage("looking for what became of it");
  const auto end = until(operation, kLostPatience) - kMargin;
  const Look seen = co_await look_until(operation, name, end);
  if (seen.kind != Look::Kind::kThere)
    throw Failure::uncertain(code, why + "; whether sandbox " + name + " exists is not known");
  require_identity(*seen.sandbox, name);
  co_return co_await until_started(operation, *seen.sandbox);
}

Awaitable<Created> Lifecycle::until_started(AsyncOperation& operation, Sandbox sandbox) {
  const auto end = until(operation, kStartPatience) - kMargin;
  milliseconds pause = api_.settings().poll_first;
  const std::string name = sandbox.name;
  std::string last;
  for (;;) {
    if (sandbox.state != last) operation.stage("sandbox is being made");
    last = sandbox.state;
    const Phase phase = phase_of(sandbox);
    // A caller that gave up is told at once which one to end.
    if (phase == Phase::kReady || (operation.cancelled() && Clock::now() < end))
      co_return Created{sandbox.name, sandbox.id, api_.settings().scope_of(sandbox.organization)};
    if (phase == Phase::kBroken || phase == Phase::kEnding || phase == Phase::kGone) {
      const std::string reason =
          shown(sandbox) + " did not start: " +
          (sandbox.error_reason.empty() ? "no reason was given"
                                        : api_.redacted(sandbox.error_reason));
      const End ended = co_await this->end(operation, sandbox, end + kMargin / 2);
      give_up_create(ended, Code::kUnavailable, reason);
    }
    if (Clock::now() + pause >= end)
      throw Failure::failed_dirty(Code::kTimeout, shown(sandbox) + " did not start in time");
    co_await api_.sleep(pause);
    pause = api_.settings().next_pause(pause);
    const Look seen = co_await look(operation, sandbox.id);
    if (seen.kind == Look::Kind::kAbsent)
      throw Failure::failed_clean(Code::kUnavailable,
                                  "sandbox " + name + " went away before it had started");
    if (seen.kind == Look::Kind::kThere) sandbox = *seen.sandbox;
  }
}

}  // namespace berth::daytona
