// Ending sandboxes and listing them.
//
// "Deletion was requested" and "it is gone" are two things here: the name is free at once, and the
// sandbox lives on under its id until a look at that id finds none.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "plugins/daytona/lifecycle.h"
#include "plugins/http/json_fields.h"

namespace berth::daytona {
namespace {

namespace json = boost::json;
using http::view;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kDestroyPatience{120};
constexpr seconds kDestroyMargin{1};
constexpr int kGentleAttempts = 2;  // before it is stopped by force first
constexpr std::string_view kPageItems = "100";

}  // namespace

// Empty: the service took it, or has none. Else why not, for now.
Awaitable<std::string> Lifecycle::request_deletion(AsyncOperation& operation, std::string id,
                                                   int attempt) {
  std::string why;
  try {
    if (attempt >= kGentleAttempts) {
      const Url stop = (api_.sandbox(id) / "stop").with_query("force", "true");
      co_await api_.call(Method::kPost, stop, kNoBody, until(operation, kCallPatience));
    }
    const Url url = api_.sandbox(id);
    const Answer answer =
        co_await api_.call(Method::kDelete, url, kNoBody, until(operation, kCallPatience));
    if (answer.ok() || answer.status == 404) co_return std::string();
    if (answer.status == 401 || answer.status == 403)
      throw Failure::uncertain(code_of(answer), sentence(answer));
    why = sentence(answer);
    if (answer.retry_after) {
      const auto wait = std::min<milliseconds>(*answer.retry_after, seconds(10));
      if (Clock::now() + wait < until(operation, kDestroyPatience)) co_await api_.sleep(wait);
    }
  } catch (const http::TransportFailure& failure) {
    why = failure.message();
  }
  co_return why;
}

Awaitable<Lifecycle::End> Lifecycle::end(AsyncOperation& operation, Sandbox sandbox,
                                         Clock::time_point give_up) {
  milliseconds pause = api_.settings().poll_first;
  End out;
  int attempt = 0;
  for (;;) {
    const Phase phase = phase_of(sandbox);
    // Once it is being destroyed a second request is only refused.
    if (phase != Phase::kEnding && phase != Phase::kGone) {
      out.why = co_await request_deletion(operation, sandbox.id, attempt);
      ++attempt;
    }
    const Look seen = co_await look(operation, sandbox.id);
    if (seen.kind == Look::Kind::kAbsent) {
      out.gone = true;
      co_return out;
    }
    if (seen.kind == Look::Kind::kThere) sandbox = *seen.sandbox;
    if (seen.kind == Look::Kind::kUnknown) out.why = seen.why;
    if (operation.cancelled() || Clock::now() + pause >= give_up) {
      if (out.why.empty()) out.why = "its state is " + sandbox.state;
      co_return out;
    }
    co_await api_.sleep(pause);
    pause = api_.settings().next_pause(pause);
  }
}

// That there is none is an answer that may be ten seconds old; a deletion is never answered from
// memory. Gives back what it met all the same.
Awaitable<std::optional<Sandbox>> Lifecycle::delete_unseen(AsyncOperation& operation,
                                                           std::string id_or_name) {
  const Url url = api_.sandbox(id_or_name);
  const Answer answer =
      co_await api_.call(Method::kDelete, url, kNoBody, until(operation, kCallPatience));
  if (answer.status == 404 && answer.body.is_object()) co_return std::nullopt;
  const auto met = answer.ok() ? sandbox_of(answer.body) : std::nullopt;
  if (met) co_return met;
  throw Failure::uncertain(answer.ok() ? Code::kInternal : code_of(answer), sentence(answer));
}

Awaitable<std::optional<Sandbox>> Lifecycle::left_of(AsyncOperation& operation, std::string name,
                                                     std::string ref) {
  const Look seen = co_await look(operation, ref.empty() ? name : ref);
  if (seen.kind == Look::Kind::kThere) co_return seen.sandbox;
  if (seen.kind == Look::Kind::kUnknown)
    throw Failure::uncertain(seen.code,
                             "it could not be found out whether " + name + " exists: " + seen.why);
  if (const auto unseen = co_await delete_unseen(operation, ref.empty() ? name : ref))
    co_return unseen;
  if (!ref.empty()) co_return std::nullopt;
  // The name of one that is being destroyed is free already; its label still says what it was. The
  // list is only where ids come from: it is late in both directions.
  const Answer answer = co_await list(operation, kNameLabel, name, {});
  if (!answer.ok()) throw Failure::uncertain(code_of(answer), sentence(answer));
  const auto* body = answer.body.if_object();
  const auto* items = body == nullptr ? nullptr : body->if_contains("items");
  if (items == nullptr || !items->is_array())
    throw Failure::uncertain(Code::kInternal, answer.what + " listed nothing that can be read");
  for (const json::value& item : items->get_array()) {
    const auto listed = sandbox_of(item);
    if (!listed || listed->labelled_name != name) continue;
    const Look each = co_await look(operation, listed->id);
    if (each.kind == Look::Kind::kThere) co_return each.sandbox;
    if (each.kind == Look::Kind::kUnknown) throw Failure::uncertain(each.code, each.why);
  }
  co_return std::nullopt;
}

Awaitable<Destroyed> Lifecycle::destroy(AsyncOperation& operation, std::string name,
                                        std::string ref) {
  operation.stage("ending the sandbox");
  ended_.add(name);
  std::optional<Sandbox> left;
  try {
    left = co_await left_of(operation, name, ref);
  } catch (const http::TransportFailure& failure) {
    throw Failure::uncertain(http::code_of(failure.reason()), failure.message());
  }
  if (!left) co_return Destroyed{};
  require_identity(*left, name);
  const auto give_up = until(operation, kDestroyPatience) - kDestroyMargin;
  const End ended = co_await end(operation, *left, give_up);
  if (ended.gone) co_return Destroyed{};
  throw Failure::uncertain(
      operation.cancelled() ? Code::kCancelled : Code::kTimeout,
      "the end of sandbox " + name + " (" + left->id + ") is not confirmed: " + ended.why);
}

Awaitable<Answer> Lifecycle::list(AsyncOperation& operation, std::string_view label,
                                  std::string_view value, std::string_view cursor) {
  json::object labels;
  labels[view(label)] = view(value);
  Url url = api_.sandboxes()
                .with_query("limit", kPageItems)
                .with_query("labels", json::serialize(labels));
  if (!cursor.empty()) url = url.with_query("cursor", cursor);
  co_return co_await api_.call(Method::kGet, url, kNoBody, until(operation, kCallPatience));
}

Awaitable<ListPage> Lifecycle::list_owned(AsyncOperation& operation, std::string tag,
                                          std::string cursor) {
  std::optional<Answer> answer;
  try {
    answer = co_await list(operation, kOwnerLabel, tag, cursor);
  } catch (const http::TransportFailure& failure) {
    throw Failure::uncertain(http::code_of(failure.reason()), failure.message());
  }
  if (!answer->ok()) throw Failure::uncertain(code_of(*answer), sentence(*answer));
  const auto* body = answer->body.if_object();
  const auto* items = body == nullptr ? nullptr : body->if_contains("items");
  if (items == nullptr || !items->is_array())
    throw Failure::uncertain(Code::kInternal, answer->what + " listed nothing that can be read");
  ListPage page;
  for (const json::value& item : items->get_array()) {
    const auto sandbox = sandbox_of(item);
    if (!sandbox)
      throw Failure::uncertain(Code::kInternal, answer->what + " lists what is no sandbox");
    if (phase_of(*sandbox) == Phase::kGone) continue;
    page.items.push_back(
        {sandbox->labelled_name, sandbox->id, state_of(*sandbox), sandbox->created_unix_ms, ""});
  }
  if (const auto* next = body->if_contains("nextCursor"); next != nullptr && next->is_string())
    page.next_cursor = std::string(next->get_string());
  if (!page.next_cursor.empty() && page.next_cursor == cursor)
    throw Failure::uncertain(Code::kInternal, answer->what + " leads from a page to itself");
  co_return page;
}

}  // namespace berth::daytona
