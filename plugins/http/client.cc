#include "plugins/http/client.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <optional>

#include "plugins/http/exchange.h"

namespace berth::http {
namespace {

namespace asio = boost::asio;

bool may_repeat(const Request& request) {
  switch (request.repeat) {
    case Repeat::kAllowed:
      return true;
    case Repeat::kForbidden:
      return false;
    case Repeat::kByMethod:
      break;
  }
  return request.method != Method::kPost && request.method != Method::kPatch;
}

// Whether the same request can do no harm once more, and has a chance.
bool worth_repeating(const Attempt& attempt, const TransportFailure& failure) {
  if (attempt.took_body) return false;
  switch (failure.reason()) {
    case Reason::kResolve:
    case Reason::kConnect:
    case Reason::kProxy:
      return true;
    case Reason::kClosed:
      return failure.delivery() == Delivery::kNotSent ||
             (failure.delivery() == Delivery::kUnknown && may_repeat(*attempt.request));
    case Reason::kInvalid:
    case Reason::kTls:
    case Reason::kTimeout:
    case Reason::kCancelled:
    case Reason::kProtocol:
    case Reason::kTooLarge:
    case Reason::kRedirect:
      return false;
  }
  return false;
}

asio::awaitable<void> pause(const ClientCore& core, const Request& request,
                            std::chrono::milliseconds time) {
  asio::steady_timer timer(core.executor);
  timer.expires_at(std::min(request.deadline, Clock::now() + time));
  bool cancelled = false;
  try {
    co_await timer.async_wait(asio::use_awaitable);
  } catch (const boost::system::system_error&) {
    cancelled = true;
  }
  if (cancelled)
    throw TransportFailure(Reason::kCancelled, Delivery::kUnknown,
                           "cancelled while waiting to repeat a request");
}

// One request to one address, repeated where that is safe.
asio::awaitable<Reply> send_here(std::shared_ptr<ClientCore> core, Attempt attempt) {
  bool unknown_before = false;
  auto wait = core->options.repeat_pause;
  for (int repeats = 0;; ++repeats) {
    std::optional<TransportFailure> failed;
    try {
      co_return co_await exchange(core, attempt);
    } catch (const TransportFailure& failure) {
      // Once an attempt may have arrived, a later one that did not changes nothing about that.
      const bool unknown = unknown_before && failure.delivery() == Delivery::kNotSent;
      failed.emplace(failure.reason(), unknown ? Delivery::kUnknown : failure.delivery(),
                     failure.message());
    }
    if (repeats >= core->options.repeats_max || !worth_repeating(attempt, *failed)) throw *failed;
    unknown_before = unknown_before || failed->delivery() == Delivery::kUnknown;
    // A connection that had gone stale says nothing about the service.
    const bool stale = attempt.was_reused && failed->reason() == Reason::kClosed;
    attempt.fresh = true;
    if (stale) continue;
    if (Clock::now() + wait >= attempt.request->deadline) throw *failed;
    co_await pause(*core, *attempt.request, wait);
    wait *= 2;
  }
}

bool is_redirect(const Request& request, const Reply& reply) {
  const bool reads = request.method == Method::kGet || request.method == Method::kHead;
  switch (reply.status()) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return reads && reply.headers().find("location").has_value();
    default:
      return false;
  }
}

}  // namespace

Client::Client(asio::any_io_executor executor, ClientOptions options)
    : core_(std::make_shared<ClientCore>(std::move(executor), std::move(options))) {}

Client::~Client() { core_->pool->clear(); }

std::size_t Client::idle_connections() const { return core_->pool->idle(); }
void Client::close_idle() { core_->pool->clear(); }

asio::awaitable<Reply> Client::send(const Request& request) {
  const auto core = core_;
  Url url = request.url;
  Attempt attempt;
  attempt.request = &request;
  attempt.url = &url;
  for (int redirects = 0;; ++redirects) {
    Reply reply = co_await send_here(core, attempt);
    if (!is_redirect(request, reply)) co_return std::move(reply);
    const std::string from = shown(request, url);
    if (redirects == core->options.redirects_max)
      throw TransportFailure(
          Reason::kRedirect, Delivery::kAnswered,
          from + ": more than " + std::to_string(core->options.redirects_max) + " redirects");
    Url next;
    try {
      next = url.resolve(*reply.headers().find("location"));
    } catch (const UrlError& error) {
      throw TransportFailure(Reason::kRedirect, Delivery::kAnswered,
                             from + ": it redirects to where it may not: " + error.what());
    }
    if (next.origin != request.url.origin) attempt.with_credentials = false;
    co_await reply.discard();
    url = std::move(next);
  }
}

}  // namespace berth::http
