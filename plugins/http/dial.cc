#include "plugins/http/dial.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <span>
#include <string_view>
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
    if (!wrong) {
      // Asio watches a socket that has waited for writing for that ever after, which would wake
      // each wait for an answer once for nothing.
      tcp::socket anew(executor);
      const int fd = socket.release(wrong);
      if (!wrong) anew.assign(endpoint.protocol(), fd, wrong);
      if (!wrong) co_return std::move(anew);
      ::close(fd);
    }
    if (deadline.passed() || wrong == asio::error::operation_aborted)
      throw ended(deadline, target, Reason::kCancelled, "cancelled while connecting");
  }
  throw not_sent(Reason::kConnect, "no connection to " + target.shown + ": " + wrong.message());
}

// The two ways to a proxy: in the clear, and over TLS.
asio::awaitable<void> send_all(tcp::socket& socket, std::string_view bytes) {
  const auto buffer = asio::buffer(bytes);
  co_await asio::async_write(socket, buffer, asio::use_awaitable);
}

asio::awaitable<std::size_t> receive(tcp::socket& socket, std::span<char> into) {
  const auto buffer = asio::buffer(into.data(), into.size());
  co_return co_await socket.async_read_some(buffer, asio::use_awaitable);
}

void close(tcp::socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

// Whether a step is done; what ended it is thrown.
bool is_done(const Step& step) {
  if (step.error) throw boost::system::system_error(step.error);
  if (step.ended) throw boost::system::system_error(asio::error::eof);
  return step.bytes != 0;
}

asio::awaitable<void> send_all(TlsSocket& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const Step step = socket.try_write(bytes);
    if (!is_done(step)) co_await socket.wait(step.wants);
    bytes.remove_prefix(step.bytes);
  }
}

asio::awaitable<std::size_t> receive(TlsSocket& socket, std::span<char> into) {
  for (;;) {
    const Step step = socket.try_read(into);
    if (is_done(step)) co_return step.bytes;
    co_await socket.wait(step.wants);
  }
}

void close(TlsSocket& socket) { socket.close(); }

template <class Way>
asio::awaitable<void> ask_to_connect(Way& way, const Origin& origin, const Proxy& proxy) {
  std::string head =
      "CONNECT " + origin.authority() + " HTTP/1.1\r\nHost: " + origin.authority() + "\r\n";
  if (!proxy.authorization.empty())
    head += "Proxy-Authorization: " + proxy.authorization.reveal() + "\r\n";
  head += "\r\n";
  co_await send_all(way, head);
  wipe(head);
  ReplyParser parser(ReplyParser::Body::kNone, kProxyHeadBytesMax);
  std::string pending, body;
  while (!parser.head_done()) {
    std::array<char, 2048> piece{};
    const std::span<char> into(piece);
    const std::size_t got = co_await receive(way, into);
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

// Until the proxy passes on what is sent.
template <class Way>
asio::awaitable<void> tunnel(asio::any_io_executor executor, Way& way, const Origin& origin,
                             const Proxy& proxy, const Target& target, Clock::time_point at) {
  Reason reason = Reason::kProxy;
  std::string why;
  Deadline deadline(executor, at, [&way] { close(way); });
  try {
    co_await ask_to_connect(way, origin, proxy);
    co_return;
  } catch (const TransportFailure&) {
    throw;
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) reason = Reason::kCancelled;
    why = target.shown + " did not connect: " + error.code().message();
  } catch (const ParseError& error) {
    why = target.shown + " did not connect: " + error.what();
  }
  throw ended(deadline, target, reason, why);
}

// Until the other end has shown that it is who it should be.
asio::awaitable<void> shake_hands(asio::any_io_executor executor, TlsSocket& socket,
                                  const Target& target, Clock::time_point at) {
  Reason reason = Reason::kTls;
  std::string why;
  Deadline deadline(executor, at, [&socket] { socket.close(); });
  try {
    for (;;) {
      const Step step = socket.try_handshake();
      if (is_done(step)) co_return;
      co_await socket.wait(step.wants);
    }
  } catch (const boost::system::system_error& error) {
    const std::string refused = socket.verify_error();
    if (error.code() == asio::error::operation_aborted) reason = Reason::kCancelled;
    why = "no trusted connection to " + target.shown + ": " +
          (refused.empty() ? error.code().message() : refused);
  }
  throw ended(deadline, target, reason, why);
}

}  // namespace

asio::awaitable<std::unique_ptr<TlsSocket>> dial(asio::any_io_executor executor,
                                                 const Origin& origin, const TlsContext& context,
                                                 const Proxy* proxy, Clock::time_point at) {
  const Target target{origin.host, origin.port, origin.authority()};
  Target first = target;
  if (proxy != nullptr) first = {proxy->host, proxy->port, "the proxy " + proxy->shown()};
  const bool tls_to_proxy = proxy != nullptr && proxy->tls;
  tcp::socket plain = co_await connect(executor, first, at);
  if (proxy != nullptr && !tls_to_proxy)
    co_await tunnel(executor, plain, origin, *proxy, first, at);
  auto socket = std::make_unique<TlsSocket>(std::move(plain), context,
                                            tls_to_proxy ? proxy->host : origin.host);
  if (tls_to_proxy) {
    co_await shake_hands(executor, *socket, first, at);
    co_await tunnel(executor, *socket, origin, *proxy, first, at);
    socket->enter_tunnel(context, origin.host);
  }
  co_await shake_hands(executor, *socket, target, at);
  co_return std::move(socket);
}

}  // namespace berth::http
