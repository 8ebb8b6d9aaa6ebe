// One connection over TLS. Private to the sources that include Beast.
//
// Its two ways to move bytes are no templates: what Asio and Beast make of each kind of buffer and handler above them
// would be compiled once per pair, and that was most of what this library cost.
#ifndef BERTH_TESTS_STANDINS_SERVER_CONNECTION_H_
#define BERTH_TESTS_STANDINS_SERVER_CONNECTION_H_

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "tests/standins/server/http.h"

namespace berth::standins {

using WireRequest = boost::beast::http::request<boost::beast::http::string_body>;

// Called once, on the loop.
class MovedBytes {
 public:
  virtual ~MovedBytes() = default;
  virtual void done(boost::system::error_code error, std::size_t bytes) = 0;
};

class Connection {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  Connection(Socket socket, boost::asio::ssl::context& context);

  Socket& socket() { return stream_.next_layer(); }

  // Each is started anew after the last of its kind has ended.
  void start_read(boost::asio::mutable_buffer into, std::unique_ptr<MovedBytes> then);
  void start_write(boost::asio::const_buffer from, std::unique_ptr<MovedBytes> then);

  // False when the other side is gone.
  Task<bool> handshake();
  Task<void> shut_down();
  Task<bool> write(std::string_view bytes);
  // No bytes: the other side is gone.
  Task<std::size_t> read(boost::asio::mutable_buffer into);
  void close();

 private:
  boost::asio::ssl::stream<Socket> stream_;
};

// A connection that has become a WebSocket.
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  virtual Task<bool> accept(std::string protocol) = 0;
  virtual Task<std::optional<Message>> receive() = 0;
  virtual Task<bool> send(Message message) = 0;
  virtual Task<void> close(int code, std::string reason) = 0;
};

// Both are borrowed.
std::unique_ptr<WebSocket> make_web_socket(Connection& connection, const WireRequest& request);

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_CONNECTION_H_
