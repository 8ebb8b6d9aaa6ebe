// Messages over a WebSocket, whole and bounded.
//
//   WebSocket socket = co_await client.open_websocket(request, options);
//   for (;;) {
//     WebSocketMessage message = co_await socket.read();
//     if (message.kind == WebSocketMessage::Kind::kClosed) break;
//   }
//
// Pings are sent while nothing comes, and a side that does not answer them is given up. One thread;
// one read and one send at a time. Failures are TransportFailures that were answered: a socket that
// breaks says nothing about what the service did.
#ifndef BERTH_PLUGINS_HTTP_WEBSOCKET_H_
#define BERTH_PLUGINS_HTTP_WEBSOCKET_H_

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plugins/http/deadline.h"

namespace berth::http {

struct WebSocketOptions {
  std::string subprotocols;                         // a Sec-WebSocket-Protocol value; empty: none
  std::size_t message_bytes_max = 1024 * 1024;      // all fragments together
  std::chrono::milliseconds idle_time_max{40'000};  // half of it silent: a ping
};

struct WebSocketMessage {
  enum class Kind { kText, kBinary, kClosed };
  Kind kind = Kind::kClosed;
  std::string data;
  std::uint16_t close_code = 0;  // with kClosed, as the other side gave it
  std::string close_reason;
};

class WebSocket {
 public:
  struct State;
  explicit WebSocket(std::unique_ptr<State> state);
  WebSocket(WebSocket&&) noexcept;
  WebSocket& operator=(WebSocket&&) noexcept;
  ~WebSocket();

  // The subprotocol the service chose; empty: none.
  const std::string& subprotocol() const;
  // The next message; kClosed when the other side closed in the proper way.
  boost::asio::awaitable<WebSocketMessage> read();
  boost::asio::awaitable<void> send(WebSocketMessage::Kind kind, std::string_view data);
  // Closes in the proper way and waits for the other side to do the same.
  boost::asio::awaitable<void> close();

  void expires_at(Clock::time_point at);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_WEBSOCKET_H_
