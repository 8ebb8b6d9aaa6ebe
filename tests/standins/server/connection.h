// The stream under every connection. Private to the sources that include Beast.
#ifndef BERTH_TESTS_STANDINS_SERVER_STREAM_H_
#define BERTH_TESTS_STANDINS_SERVER_STREAM_H_

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>

#include "tests/standins/server/http.h"

namespace berth::standins {

// Asio's own: clang cannot tell apart the two ways Beast's has of closing.
using TlsStream = boost::asio::ssl::stream<boost::beast::tcp_stream>;
using WireRequest = boost::beast::http::request<boost::beast::http::string_body>;

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
std::unique_ptr<WebSocket> make_web_socket(TlsStream& stream, const WireRequest& request);

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_STREAM_H_
