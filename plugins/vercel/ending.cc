// Ending sandboxes and listing them.
//
// A sandbox is two things here: a session that runs and costs, and a record that holds the name.
// It is gone when the session is over and a look at the name finds no record. A stopped one is not
// gone; and nothing here asks for a sandbox to be resumed, which would start what is being ended.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "plugins/vercel/lifecycle.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStopPatience{30};
constexpr seconds kDeletePatience{30};
constexpr seconds kDestroyPatience{180};
constexpr seconds kDestroyMargin{1};
constexpr std::string_view kPageItems = "50";

}  // namespace

// Whether it worked or not, the record is deleted next, which ends a session as well.
Awaitable<void> Lifecycle::stop(AsyncOperation& operation, End& end) {
  if (end.session_over || end.session.empty()) co_return;
  const Url url = api_.session_url(end.session, "/stop");
  const Answer answer = co_await api_.call(Method::kPost, url, std::string(),
                                           until(operation, kStopPatience), http::Repeat::kAllowed);
  // One that is over already may be told of in any of these ways; a look at it decides.
  if (!answer.ok()) {
    end.code = code_of(answer);
    end.why = sentence(answer);
    co_return;
  }
  const auto session = session_of(answer.body);
  if (!session || !is_terminal(phase_of(session->status))) co_return;
  end.session_over = true;
  end.usage = session->usage;
}

Awaitable<void> Lifecycle::remove(AsyncOperation& operation, End& end, std::string name) {
  const Url url = api_.sandbox_url(name).with_query("deleteOrphanSnapshots", "true");
  const Answer answer =
      co_await api_.call(Method::kDelete, url, std::string(), until(operation, kDeletePatience));
  if (answer.ok()) {
    const auto* described = answer.body.if_object();
    const auto* sandbox = described == nullptr ? nullptr : described->if_contains("sandbox");
    const auto deleted = sandbox == nullptr ? std::nullopt : listed_sandbox(*sandbox);
    if (deleted && deleted->usage) end.usage = deleted->usage;
    co_return;
  }
  if (answer.says_absent()) co_return;
  end.code = code_of(answer);
  end.why = sentence(answer);
  if (!answer.retry_after) co_return;
  const auto wait = std::min<milliseconds>(*answer.retry_after, seconds(10));
  if (Clock::now() + wait < until(operation, kDestroyPatience) - kDestroyMargin)
    co_await api_.sleep(wait);
}

// The record may be gone before what it stood for has ended.
Awaitable<void> Lifecycle::confirm_session(AsyncOperation& operation, End& end) {
  if (end.session_over) co_return;
  if (end.session.empty()) {
    end.session_over = true;
    co_return;
  }
  const Url url = api_.session_url(end.session);
  const Answer answer =
      co_await api_.call(Method::kGet, url, std::string(), until(operation, kLookPatience));
  const auto session = answer.ok() ? session_of(answer.body) : std::nullopt;
  const bool forgotten = answer.by_service && (answer.status == 404 || answer.status == 410);
  if (forgotten || (session && is_terminal(phase_of(session->status)))) {
    end.session_over = true;
    if (session && session->usage && !end.usage) end.usage = session->usage;
    co_return;
  }
  end.code = answer.ok() ? Code::kTimeout : code_of(answer);
  end.why = session ? "session " + session->id + " is " + session->status : sentence(answer);
}

// Stops, deletes and looks, again and again until it is gone or the time is over.
Awaitable<void> Lifecycle::end(AsyncOperation& operation, End& end, const Wanted& wanted,
                               Clock::time_point give_up) {
  milliseconds pause = api_.settings().poll_first;
  for (;;) {
    try {
      co_await stop(operation, end);
    } catch (const http::TransportFailure& failure) {
      end.why = failure.message();
    }
    try {
      if (!end.record_gone) co_await remove(operation, end, wanted.name);
    } catch (const http::TransportFailure& failure) {
      end.why = failure.message();
    }
    const Look seen = co_await look(operation, wanted.name);
    end.record_gone = seen.kind == Look::Kind::kAbsent;
    if (seen.kind == Look::Kind::kThere) {
      // What has this name now may have come while the old one was being ended.
      require_identity(*seen.sandbox, wanted);
      if (end.session != seen.sandbox->session) {
        end.session = seen.sandbox->session;
        end.session_over = false;
      }
      if (end.why.empty()) end.why = "its record is still there (" + seen.sandbox->status + ")";
    } else if (seen.kind == Look::Kind::kUnknown) {
      end.code = seen.code;
      end.why = seen.why;
    }
    try {
      if (end.record_gone) co_await confirm_session(operation, end);
    } catch (const http::TransportFailure& failure) {
      end.why = failure.message();
    }
    if (end.gone() || operation.cancelled() || Clock::now() + pause >= give_up) co_return;
    if (end.code == Code::kUnauthenticated || end.code == Code::kPermission) co_return;
    co_await api_.sleep(pause);
    pause = api_.settings().next_pause(pause);
  }
}

Awaitable<Destroyed> Lifecycle::destroy(AsyncOperation& operation, std::string name,
                                        std::string ref) {
  operation.stage("ending the sandbox");
  ended_.add(name);
  const Look seen = co_await look(operation, name);
  if (seen.kind == Look::Kind::kUnknown)
    throw Failure::uncertain(seen.code,
                             "it could not be found out whether " + name + " exists: " + seen.why);
  // Ending goes by the name alone, which is nobody else's: a host may end what an earlier one of
  // another tag has left.
  const Wanted wanted{name, std::string()};
  End end;
  end.session = ref;
  const auto give_up = until(operation, kDestroyPatience) - kDestroyMargin;
  if (seen.kind == Look::Kind::kThere) {
    require_identity(*seen.sandbox, wanted);
    end.session = seen.sandbox->session;
    end.session_over = is_terminal(phase_of(seen.sandbox->status));
    end.usage = end.session_over ? seen.sandbox->usage : std::nullopt;
    co_await this->end(operation, end, wanted, give_up);
  } else {
    end.record_gone = true;
    std::optional<http::TransportFailure> failed;
    try {
      co_await confirm_session(operation, end);
    } catch (const http::TransportFailure& failure) {
      failed = failure;
    }
    if (failed) throw uncertain(*failed);
    if (!end.session_over) co_await this->end(operation, end, wanted, give_up);
  }
  if (end.gone()) co_return Destroyed{end.usage};
  throw Failure::uncertain(operation.cancelled() ? Code::kCancelled : end.code,
                           "the end of sandbox " + name + " is not confirmed: " + end.why);
}

Awaitable<ListPage> Lifecycle::list_owned(AsyncOperation& operation, std::string tag,
                                          std::string cursor) {
  Url url = api_.list_url()
                .with_query("limit", kPageItems)
                .with_query("tags", std::string(kOwnerTag) + ":" + tag);
  if (!cursor.empty()) url = url.with_query("cursor", cursor);
  std::optional<Answer> answer;
  std::optional<http::TransportFailure> failed;
  try {
    answer = co_await api_.call(Method::kGet, url, std::string(), until(operation, kLookPatience));
  } catch (const http::TransportFailure& failure) {
    failed = failure;
  }
  if (failed) throw uncertain(*failed);
  if (!answer->ok()) throw Failure::uncertain(code_of(*answer), sentence(*answer));
  const auto* body = answer->body.if_object();
  const auto* items = body == nullptr ? nullptr : body->if_contains("sandboxes");
  if (items == nullptr || !items->is_array())
    throw Failure::uncertain(Code::kInternal, answer->what + " listed nothing that can be read");
  ListPage page;
  for (const json::value& item : items->get_array()) {
    const auto sandbox = listed_sandbox(item);
    if (!sandbox)
      throw Failure::uncertain(Code::kInternal, answer->what + " lists what is no sandbox");
    // The filter is the service's; what it lets through is not taken for this host's without a
    // look.
    if (sandbox->owner != tag) continue;
    page.items.push_back({sandbox->name, sandbox->session, state_of(phase_of(sandbox->status)),
                          sandbox->created_unix_ms, ""});
  }
  if (const auto* pagination = object_of(answer->body, "pagination")) {
    const auto* next = pagination->if_contains("next");
    if (next != nullptr && next->is_string()) page.next_cursor = std::string(next->get_string());
    if (next != nullptr && next->is_number())
      page.next_cursor = std::to_string(number_of(*pagination, "next"));
  }
  if (!page.next_cursor.empty() && page.next_cursor == cursor)
    throw Failure::uncertain(Code::kInternal, answer->what + " leads from a page to itself");
  co_return page;
}

}  // namespace berth::vercel
