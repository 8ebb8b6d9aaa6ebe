#include "plugins/http/dial.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <vector>

#include "plugins/http/reply_parser.h"

namespace berth::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kAddressesMax = 8;
constexpr std::uint32_t kProxyHeadBytesMax = 16 * 1024;

struct Target {
  std::string host;
  std::uint16_t port = 0;
  std::string shown;
};

TransportFailure not_sent(Reason reason, std::string message) {
  return TransportFailure(reason, Delivery::kNotSent, std::move(message));
}

// What an aborted wait means: the deadline, or the coroutine was cancelled.
TransportFailure ended(const Deadline& deadline, const Target& target, Reason otherwise,
                       const std::string& why) {
  if (deadline.passed())
    return not_sent(Reason::kTimeout, "connecting to " + target.shown + " took too long");
  return not_sent(otherwise, why);
}

// A lookup goes on in the resolver's thread even when nobody waits for it any more, so it keeps
// what it needs.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor), answered(executor) {}
  tcp::resolver resolver;
  asio::steady_timer answered;  // stops waiting when the answer is there
  error_code error = asio::error::timed_out;
  std::vector<tcp::endpoint> endpoints;
};

asio::awaitable<std::vector<tcp::endpoint>> resolve(asio::any_io_executor executor,
                                                    const Target& target,
                                                    Clock::time_point deadline) {
  error_code wrong;
  const auto address = asio::ip::make_address(target.host, wrong);
  if (!wrong) co_return std::vector<tcp::endpoint>{tcp::endpoint(address, target.port)};
  const auto lookup = std::make_shared<Lookup>(executor);
  lookup->answered.expires_at(deadline);
  lookup->resolver.async_resolve(
      target.host, std::to_string(target.port), tcp::resolver::numeric_service,
      [lookup](const error_code& error, const tcp::resolver::results_type& results) {
        lookup->error = error;
        for (const auto& entry : results) {
          if (lookup->endpoints.size() == kAddressesMax) break;
          lookup->endpoints.push_back(entry.endpoint());
        }
        lookup->answered.expires_at(Clock::time_point::min());
      });
  error_code waited;
  auto token = asio::redirect_error(asio::use_awaitable, waited);
  co_await lookup->answered.async_wait(token);
  if (lookup->endpoints.empty()) {
    if (lookup->error == asio::error::timed_out && Clock::now() >= deadline)
      throw not_sent(Reason::kTimeout, "looking up " + target.host + " took too long");
    if (lookup->error == asio::error::timed_out)
      throw not_sent(Reason::kCancelled, "cancelled while looking up " + target.host);
    throw not_sent(Reason::kResolve,
                   "the host " + target.host + " has no address: " + lookup->error.message());
  }
  co_return std::move(lookup->endpoints);
}

// Asio's own open would leave the descriptor to child processes.
bool open_socket(tcp::socket& socket, const tcp& protocol, error_code& wrong) {
  const int fd = ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    wrong.assign(errno, boost::system::system_category());
    return false;
  }
  socket.assign(protocol, fd, wrong);
  if (!wrong) socket.set_option(tcp::no_delay(true), wrong);
  if (!wrong) socket.set_option(asio::socket_base::keep_alive(true), wrong);
  return !wrong;
}

asio::awaitable<tcp::socket> connect(asio::any_io_executor executor, const Target& target,
                                     Clock::time_point at) {
  const auto endpoints = co_await resolve(executor, target, at);
  error_code wrong;
  for (const tcp::endpoint& endpoint : endpoints) {
    tcp::socket socket(executor);
    if (!open_socket(socket, endpoint.protocol(), wrong)) continue;
    Deadline deadline(executor, at, [&socket] {
      error_code ignored;
      socket.close(ignored);
    });
    wrong = {};
    auto token = asio::redirect_error(asio::use_awaitable, wrong);
    co_await socket.async_connect(endpoint, token);
    if (!wrong) co_return std::move(socket);
    if (deadline.passed() || wrong == asio::error::operation_aborted)
      throw ended(deadline, target, Reason::kCancelled, "cancelled while connecting");
  }
  throw not_sent(Reason::kConnect, "no connection to " + target.shown + ": " + wrong.message());
}

asio::awaitable<void> tunnel(tcp::socket& socket, const Origin& origin, const Proxy& proxy) {
  std::string head =
      "CONNECT " + origin.authority() + " HTTP/1.1\r\nHost: " + origin.authority() + "\r\n";
  if (!proxy.authorization.empty())
    head += "Proxy-Authorization: " + proxy.authorization.reveal() + "\r\n";
  head += "\r\n";
  const auto buffer = asio::buffer(head);
  co_await asio::async_write(socket, buffer, asio::use_awaitable);
  wipe(head);
  ReplyParser parser(ReplyParser::Body::kNone, kProxyHeadBytesMax);
  std::string pending, body;
  while (!parser.head_done()) {
    std::array<char, 2048> piece{};
    const auto into = asio::buffer(piece);
    const std::size_t got = co_await socket.async_read_some(into, asio::use_awaitable);
    pending.append(piece.data(), got);
    pending.erase(0, parser.put(pending, body));
  }
  if (parser.status() / 100 != 2)
    throw not_sent(Reason::kProxy, "the proxy " + proxy.shown() + " answered " +
                                       std::to_string(parser.status()) + " to CONNECT " +
                                       origin.authority());
  // Nobody speaks before the client does.
  if (!pending.empty())
    throw not_sent(Reason::kProxy, "the proxy " + proxy.shown() + " sent more than its answer");
}

asio::awaitable<void> shake_hands(TlsSocket& socket) {
  for (;;) {
    const Step step = socket.try_handshake();
    if (step.bytes != 0) co_return;
    if (step.error) throw boost::system::system_error(step.error);
    if (step.ended) throw boost::system::system_error(asio::error::eof);
    co_await socket.wait(step.wants);
  }
}

}  // namespace

asio::awaitable<std::unique_ptr<TlsSocket>> dial(asio::any_io_executor executor,
                                                 const Origin& origin, const TlsContext& context,
                                                 const Proxy* proxy, Clock::time_point at) {
  Target target{origin.host, origin.port, origin.authority()};
  if (proxy != nullptr) target = {proxy->host, proxy->port, "the proxy " + proxy->shown()};
  tcp::socket plain = co_await connect(executor, target, at);
  Reason reason = Reason::kProxy;
  std::string why;
  if (proxy != nullptr) {
    Deadline deadline(executor, at, [&plain] {
      error_code ignored;
      plain.close(ignored);
    });
    try {
      co_await tunnel(plain, origin, *proxy);
    } catch (const TransportFailure&) {
      throw;
    } catch (const boost::system::system_error& error) {
      if (error.code() == asio::error::operation_aborted) reason = Reason::kCancelled;
      why = target.shown + " did not connect: " + error.code().message();
    } catch (const ParseError& error) {
      why = target.shown + " did not connect: " + error.what();
    }
    if (!why.empty()) throw ended(deadline, target, reason, why);
  }
  auto socket = std::make_unique<TlsSocket>(std::move(plain), context, origin.host);
  target.shown = origin.authority();
  Deadline deadline(executor, at, [&socket] { socket->close(); });
  try {
    co_await shake_hands(*socket);
    co_return std::move(socket);
  } catch (const boost::system::system_error& error) {
    const std::string refused = socket->verify_error();
    reason = error.code() == asio::error::operation_aborted ? Reason::kCancelled : Reason::kTls;
    why = "no trusted connection to " + target.shown + ": " +
          (refused.empty() ? error.code().message() : refused);
  }
  throw ended(deadline, target, reason, why);
}

}  // namespace berth::http
