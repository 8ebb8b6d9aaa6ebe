// The HTTPS client of the remote providers.
//
//   Client client(executor, options);
//   Request request{.method = Method::kPost, .url = base / "sandbox"};
//   request.body = ...;
//   Reply reply = co_await client.send(request);         // the head, whatever its status
//   std::string text = co_await reply.text(64 * 1024);   // or piece by piece with next()
//
// TLS 1.2 or later with verification, HTTP/1.1 with keep-alive, bodies streamed both ways. An
// answer of any status is a Reply; no answer, or one that breaks off, is a TransportFailure whose
// delivery says whether the service may have acted. Redirects of GET and HEAD are followed, a
// bounded number of them, https only, and credentials stay with their origin. Requests are repeated
// only when they provably were not sent, or may be repeated (see Repeat).
//
// One thread: that of the executor. Requests and options are the caller's; a Reply keeps what it
// needs and may outlive the Client. Cancelling the coroutine ends what it waits for with a
// TransportFailure of reason kCancelled.
#ifndef BERTH_PLUGINS_HTTP_CLIENT_H_
#define BERTH_PLUGINS_HTTP_CLIENT_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plugins/http/delivery.h"
#include "plugins/http/pool.h"
#include "plugins/http/proxy.h"
#include "plugins/http/reply.h"
#include "plugins/http/request.h"

namespace berth::http {

struct ClientOptions {
  std::string user_agent = "berth";
  std::string trust_file;  // authorities in PEM, besides the system's; empty: none
  ProxySettings proxy;
  std::chrono::milliseconds connect_timeout{10'000};  // resolving, connecting, proxy and TLS
  std::uint32_t head_bytes_max = 32 * 1024;
  int redirects_max = 5;
  int repeats_max = 2;                          // after the first attempt
  std::chrono::milliseconds repeat_pause{250};  // before the first repetition, then twice that
  PoolLimits pool;
};

class WebSocket;
struct WebSocketOptions;

class Client {
 public:
  // Throws std::runtime_error when the trust file cannot be read.
  Client(boost::asio::any_io_executor executor, ClientOptions options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // Sends the request and waits for the head of its answer. The request outlives the call.
  boost::asio::awaitable<Reply> send(const Request& request);

  // Opens a WebSocket (GET with Upgrade); see websocket.h. An answer other than 101 is a
  // TransportFailure of reason kProtocol that was answered, with the status in its message.
  boost::asio::awaitable<WebSocket> open_websocket(const Request& request,
                                                   const WebSocketOptions& options);

  std::size_t idle_connections() const;
  // Closes what waits for another request.
  void close_idle();

 private:
  std::shared_ptr<ClientCore> core_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_CLIENT_H_
