#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "tests/standins/server/connection.h"

namespace berth::standins {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;

constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;

template <class Handler>
class Moved final : public MovedBytes {
 public:
  explicit Moved(Handler&& handler) : handler_(std::move(handler)) {}
  void done(boost::system::error_code error, std::size_t bytes) override { std::move(handler_)(error, bytes); }

 private:
  Handler handler_;
};

// The first that holds anything: reading and writing some may stop there.
template <class Buffer, class Buffers>
Buffer first_of(const Buffers& buffers) {
  for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers); ++at) {
    const Buffer one = *at;
    if (one.size() > 0) return one;
  }
  return {};
}

// A connection the way Beast wants a stream.
class Stream {
 public:
  using executor_type = Connection::Socket::executor_type;

  explicit Stream(Connection& connection) : connection_(&connection) {}
  executor_type get_executor() { return connection_->socket().get_executor(); }
  Connection& connection() { return *connection_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [](auto handler, Connection* on, asio::mutable_buffer into) {
          on->start_read(into, std::make_unique<Moved<decltype(handler)>>(std::move(handler)));
        },
        token, connection_, first_of<asio::mutable_buffer>(buffers));
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [](auto handler, Connection* on, asio::const_buffer from) {
          on->start_write(from, std::make_unique<Moved<decltype(handler)>>(std::move(handler)));
        },
        token, connection_, first_of<asio::const_buffer>(buffers));
  }

 private:
  Connection* connection_;
};

[[maybe_unused]] void teardown(beast::role_type, Stream& stream, boost::system::error_code& error) {
  error = {};
  stream.connection().close();
}

template <class Done>
void async_teardown(beast::role_type, Stream& stream, Done&& done) {
  stream.connection().close();
  asio::post(stream.get_executor(),
             [done = std::forward<Done>(done)]() mutable { done(boost::system::error_code()); });
}

void beast_close_socket(Stream& stream) { stream.connection().close(); }

class OverTls final : public WebSocket {
 public:
  OverTls(Connection& connection, const WireRequest& request)
      : socket_(Stream(connection)), request_(request) {}

  Task<bool> accept(std::string protocol) override {
    socket_.read_message_max(kMessageBytesMax);
    socket_.set_option(websocket::stream_base::decorator([protocol](websocket::response_type& response) {
      if (!protocol.empty()) response.set(beast::http::field::sec_websocket_protocol, protocol);
    }));
    boost::system::error_code error;
    co_await socket_.async_accept(request_, redirect_error(use_awaitable, error));
    co_return !error;
  }

  Task<std::optional<Message>> receive() override {
    beast::flat_buffer buffer;
    boost::system::error_code error;
    co_await socket_.async_read(buffer, redirect_error(use_awaitable, error));
    if (error) co_return std::nullopt;
    Message message;
    message.text = socket_.got_text();
    message.bytes = beast::buffers_to_string(buffer.data());
    co_return message;
  }

  Task<bool> send(Message message) override {
    socket_.text(message.text);
    boost::system::error_code error;
    co_await socket_.async_write(boost::asio::buffer(message.bytes), redirect_error(use_awaitable, error));
    co_return !error;
  }

  Task<void> close(int code, std::string reason) override {
    websocket::close_reason why(static_cast<websocket::close_code>(code), reason);
    boost::system::error_code error;
    co_await socket_.async_close(why, redirect_error(use_awaitable, error));
  }

 private:
  websocket::stream<Stream, false> socket_;
  const WireRequest& request_;
};

}  // namespace

std::unique_ptr<WebSocket> make_web_socket(Connection& connection, const WireRequest& request) {
  return std::make_unique<OverTls>(connection, request);
}

}  // namespace berth::standins
