#include "plugins/vercel/lifecycle.h"

#include "plugins/vercel/create_body.h"

namespace berth::vercel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kCreatePatience{60};
constexpr seconds kStartPatience{120};  // without a deadline of the operation
constexpr seconds kEndPatience{60};     // for what did not start
constexpr seconds kLostPatience{12};
constexpr seconds kMargin{2};  // kept for saying what became of it

std::string shown(const Sandbox& sandbox) {
  return "sandbox " + sandbox.name + " (session " + sandbox.session + ", " + sandbox.status + ")";
}

bool says_taken(const Answer& answer) {
  return answer.message.find("already exists") != std::string::npos;
}

// What the service or something before it refuses without looking at the body.
bool refuses_the_caller(const Answer& answer) {
  return answer.status == 401 || answer.status == 402 || answer.status == 403 ||
         answer.status == 429;
}

}  // namespace

Awaitable<ProbeReport> Lifecycle::probe(AsyncOperation& operation) {
  ProbeReport report;
  report.backend = "Vercel Sandbox at " + api_.settings().api.shown();
  ProbeItem item{"api", false, "", ""};
  try {
    const Url url = api_.list_url().with_query("limit", "1");
    const Answer answer =
        co_await api_.call(Method::kGet, url, std::string(), until(operation, kLookPatience));
    const auto* body = answer.body.if_object();
    item.ok = answer.ok() && body != nullptr && body->contains("sandboxes");
    item.detail = item.ok       ? "answers, and knows the token"
                  : answer.ok() ? answer.what + " lists nothing that can be read"
                                : sentence(answer);
    if (answer.status == 401 || answer.status == 403)
      item.remedy =
          "renew VERCEL_OIDC_TOKEN, or set VERCEL_TOKEN to a token that may use the team and the "
          "project of VERCEL_TEAM_ID and VERCEL_PROJECT_ID";
    else if (!item.ok)
      item.remedy = "look at the address of the api (apiUrl) and at the project";
  } catch (const http::TransportFailure& failure) {
    if (failure.reason() == http::Reason::kCancelled) throw Operation::cancelled_failure();
    item.detail = failure.message();
    item.remedy = "look at the network, at apiUrl and at the authorities that are trusted";
  }
  report.usable = item.ok;
  report.items.push_back(std::move(item));
  const Settings& settings = api_.settings();
  report.items.push_back({"images", true,
                          "python: " + settings.image_python + ", javascript: " +
                              settings.image_javascript + ", both: " + settings.image_both,
                          ""});
  co_return report;
}

Awaitable<bool> Lifecycle::is_unlisted(AsyncOperation& operation, std::string name) {
  const Url url = api_.list_url()
                      .with_query("limit", "1")
                      .with_query("sortBy", "name")
                      .with_query("namePrefix", name);
  const Answer answer =
      co_await api_.call(Method::kGet, url, std::string(), until(operation, kLookPatience));
  const auto* body = answer.body.if_object();
  const auto* items = body == nullptr ? nullptr : body->if_contains("sandboxes");
  if (!answer.ok() || items == nullptr || !items->is_array()) co_return false;
  if (items->get_array().empty()) co_return true;
  const auto first = listed_sandbox(items->get_array()[0]);
  co_return first && first->name != name;
}

Awaitable<Lifecycle::Look> Lifecycle::look(AsyncOperation& operation, std::string name) {
  Look out;
  try {
    const Url url = api_.sandbox_url(name);
    const Answer answer =
        co_await api_.call(Method::kGet, url, std::string(), until(operation, kLookPatience));
    if (answer.says_absent() && answer.code == "not_found") {
      // A team or project that this token does not reach is "not found" as well.
      bool absent = answer.message.find(name) != std::string::npos;
      if (!absent) absent = co_await is_unlisted(operation, name);
      if (absent) {
        out.kind = Look::Kind::kAbsent;
        co_return out;
      }
    }
    if (answer.ok()) out.sandbox = sandbox_of(answer.body);
    if (out.sandbox) {
      out.kind = Look::Kind::kThere;
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

// Whoever does not own it must not touch it, and what is kept when it is stopped was not made here.
void Lifecycle::require_identity(const Sandbox& sandbox, const Wanted& wanted) {
  const bool foreign = sandbox.tagged && !wanted.owner.empty() && sandbox.owner != wanted.owner;
  if (sandbox.name == wanted.name && sandbox.persistent == false && !foreign) return;
  throw Failure::uncertain(
      Code::kConflict,
      "Code sandbox identity or persistence needs reconciliation: " + shown(sandbox) +
          (foreign ? " of another owner" : "") + " was found for " + wanted.name);
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
  found.state = state_of(phase_of(seen.sandbox->status));
  found.name = seen.sandbox->name;
  found.ref = seen.sandbox->session;
  found.scope = api_.settings().scope_of(seen.sandbox->project);
  found.created_unix_ms = seen.sandbox->created_unix_ms;
  co_return found;
}

Awaitable<Created> Lifecycle::create(AsyncOperation& operation, std::string name,
                                     const CreateSpec& spec) {
  if (operation.cancelled())
    throw Failure::rejected(Code::kCancelled, "cancelled before anything was made");
  if (ended_.has(name))
    throw Failure::rejected(Code::kConflict, "the name " + name + " is used up: its sandbox ended");
  const Wanted wanted{name, std::string(spec.owner_tag)};
  const std::string body = create_body(api_.settings(), name, spec);
  operation.stage("asking for a sandbox");
  std::optional<http::TransportFailure> failed;
  std::optional<Answer> answer;
  try {
    const Url url = api_.create_url();
    answer = co_await api_.call(Method::kPost, url, body, until(operation, kCreatePatience));
  } catch (const http::TransportFailure& failure) {
    failed = failure;
  }
  if (answer) co_return co_await after_answer(operation, *answer, wanted);
  if (failed->delivery() == http::Delivery::kNotSent) throw http::failure_of(*failed);
  co_return co_await adopt(operation, wanted, failed->message(), http::code_of(failed->reason()));
}

Awaitable<Created> Lifecycle::after_answer(AsyncOperation& operation, const Answer& answer,
                                           const Wanted& wanted) {
  if (answer.ok()) {
    const auto sandbox = sandbox_of(answer.body);
    if (!sandbox)
      co_return co_await adopt(operation, wanted, answer.what + " described no sandbox",
                               Code::kInternal);
    require_identity(*sandbox, wanted);
    co_return co_await until_running(operation, wanted, *sandbox);
  }
  const Failure failure = failure_of(answer);
  if (refuses_the_caller(answer)) throw failure;
  if (answer.by_service && failure.outcome_class() == OutcomeClass::kRejected) {
    // "Exists already" is a 400 like any other: by this very call, sent before, or else the
    // identity says so.
    const bool taken = says_taken(answer);
    if (answer.status != 400 && answer.status != 409) throw failure;
    const Look seen = co_await look(operation, wanted.name);
    if (seen.kind == Look::Kind::kThere) {
      require_identity(*seen.sandbox, wanted);
      co_return co_await until_running(operation, wanted, *seen.sandbox);
    }
    if (seen.kind == Look::Kind::kAbsent && !taken) throw failure;
  }
  co_return co_await adopt(operation, wanted, sentence(answer), code_of(answer));
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

// The request may have made one. It is never sent again; it is only looked whether one is there.
Awaitable<Created> Lifecycle::adopt(AsyncOperation& operation, const Wanted& wanted,
                                    std::string why, Code code) {
  operation.stage("looking for what became of it");
  const auto end = until(operation, kLostPatience) - kMargin;
  const Look seen = co_await look_until(operation, wanted.name, end);
  if (seen.kind != Look::Kind::kThere)
    throw Failure::uncertain(code,
                             why + "; whether sandbox " + wanted.name + " exists is not known");
  require_identity(*seen.sandbox, wanted);
  co_return co_await until_running(operation, wanted, *seen.sandbox);
}

// What is always ended is a create that failed: its record holds the name.
void Lifecycle::give_up_create(const End& end, Code code, const std::string& why) {
  if (end.gone()) throw Failure::failed_clean(code, why);
  throw Failure::failed_dirty(code, why + "; it could not be ended: " + end.why);
}

Awaitable<Created> Lifecycle::until_running(AsyncOperation& operation, const Wanted& wanted,
                                            Sandbox sandbox) {
  const auto patience = until(operation, kStartPatience) - kMargin;
  milliseconds pause = api_.settings().poll_first;
  operation.stage("sandbox is being made");
  for (;;) {
    const Phase phase = phase_of(sandbox.status);
    // A caller that gave up is told at once which one to end.
    if (phase == Phase::kReady || operation.cancelled())
      co_return Created{sandbox.name, sandbox.session, api_.settings().scope_of(sandbox.project)};
    if (is_terminal(phase) || phase == Phase::kEnding) {
      End end;
      end.session = sandbox.session;
      end.session_over = is_terminal(phase);
      const std::string why = shown(sandbox) + " did not come to run";
      co_await this->end(operation, end, wanted, until(operation, kEndPatience) - kMargin / 2);
      give_up_create(end, Code::kUnavailable, why);
    }
    if (Clock::now() + pause >= patience)
      throw Failure::failed_dirty(Code::kTimeout, shown(sandbox) + " did not start in time");
    co_await api_.sleep(pause);
    pause = api_.settings().next_pause(pause);
    const Look seen = co_await look(operation, wanted.name);
    if (seen.kind == Look::Kind::kAbsent)
      throw Failure::failed_dirty(Code::kUnavailable,
                                  "sandbox " + wanted.name + " went away before it had started");
    if (seen.kind == Look::Kind::kThere) {
      sandbox = *seen.sandbox;
      require_identity(sandbox, wanted);
    }
  }
}

}  // namespace berth::vercel
