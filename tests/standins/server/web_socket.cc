#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "tests/standins/server/stream.h"

namespace berth::standins {
namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;

constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;

class OverTls final : public WebSocket {
 public:
  OverTls(TlsStream& stream, const WireRequest& request) : socket_(stream), request_(request) {}

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
  websocket::stream<TlsStream&> socket_;
  const WireRequest& request_;
};

}  // namespace

std::unique_ptr<WebSocket> make_web_socket(TlsStream& stream, const WireRequest& request) {
  return std::make_unique<OverTls>(stream, request);
}

}  // namespace berth::standins
