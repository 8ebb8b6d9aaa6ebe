#include "tests/standins/server/http_server.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cctype>
#include <cstdio>

#include "tests/standins/server/stream.h"

namespace berth::standins {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::redirect_error;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr std::uint64_t kBodyBytesMax = std::uint64_t{512} << 20;
constexpr std::uint32_t kHeaderBytesMax = 65536;

template <class Message>
void put_headers(Message* message, const Response& response) {
  if (!response.type.empty()) message->set(http::field::content_type, response.type);
  for (const auto& [name, value] : response.headers) message->insert(name, value);
}

Request make_request(const WireRequest& wire) {
  Request request;
  request.method = std::string(wire.method_string());
  request.target = std::string(wire.target());
  for (const auto& field : wire) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  request.body = wire.body();
  request.upgrade = beast::websocket::is_upgrade(wire);
  return request;
}

// One request of a connection.
class OneExchange final : public Exchange {
 public:
  OneExchange(TlsStream& stream, const WireRequest& wire)
      : stream_(stream), wire_(wire), request_(make_request(wire)) {
    good_ = split_target(&request_);
  }

  bool good() const { return good_; }
  // Whether the next request may follow on this connection.
  bool goes_on() const { return answered_ && !closed_ && wire_.keep_alive(); }

  const Request& request() const override { return request_; }

  Task<void> answer(Response response) override {
    http::response<http::string_body> message(static_cast<http::status>(response.status), 11);
    put_headers(&message, response);
    message.keep_alive(wire_.keep_alive());
    message.body() = std::move(response.body);
    // A reply without a body says so by having no length, too.
    if (response.status != 204) message.prepare_payload();
    boost::system::error_code error;
    if (!closed_) co_await http::async_write(stream_, message, redirect_error(use_awaitable, error));
    answered_ = true;
    if (error) closed_ = true;
  }

  Task<bool> begin(Response head) override {
    http::response<http::empty_body> message(static_cast<http::status>(head.status), 11);
    put_headers(&message, head);
    message.keep_alive(wire_.keep_alive());
    message.chunked(true);
    http::response_serializer<http::empty_body> serializer(message);
    boost::system::error_code error;
    co_await http::async_write_header(stream_, serializer, redirect_error(use_awaitable, error));
    if (error) closed_ = true;
    co_return !closed_;
  }

  Task<bool> write(std::string bytes) override {
    if (closed_ || bytes.empty()) co_return !closed_;
    // In one piece: each buffer would be a record of TLS, and a packet, of its own.
    char size[20];
    bytes.insert(0, size, static_cast<std::size_t>(std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size())));
    bytes += "\r\n";
    boost::system::error_code error;
    co_await asio::async_write(stream_, asio::buffer(bytes), redirect_error(use_awaitable, error));
    if (error) closed_ = true;
    co_return !closed_;
  }

  Task<void> finish() override {
    if (closed_) co_return;
    boost::system::error_code error;
    co_await asio::async_write(stream_, http::make_chunk_last(), redirect_error(use_awaitable, error));
    answered_ = true;
    if (error) closed_ = true;
  }

  void drop() override {
    closed_ = true;
    beast::get_lowest_layer(stream_).close();
  }

  Task<void> stall() override {
    boost::system::error_code error;
    char ignored = 0;
    while (!error) {
      co_await stream_.async_read_some(asio::buffer(&ignored, 1), redirect_error(use_awaitable, error));
    }
    drop();
  }

  Task<bool> upgrade(std::string protocol) override {
    socket_ = make_web_socket(stream_, wire_);
    closed_ = true;  // as far as HTTP goes
    const bool open = co_await socket_->accept(std::move(protocol));
    co_return open;
  }
  Task<std::optional<Message>> receive() override { return socket_->receive(); }
  Task<bool> send(Message message) override { return socket_->send(std::move(message)); }
  Task<void> close(int code, std::string reason) override {
    return socket_->close(code, std::move(reason));
  }

 private:
  TlsStream& stream_;
  const WireRequest& wire_;
  Request request_;
  bool good_ = false;
  bool answered_ = false;
  bool closed_ = false;
  std::unique_ptr<WebSocket> socket_;
};

Task<void> serve_connection(tcp::socket socket, std::shared_ptr<asio::ssl::context> context,
                            std::shared_ptr<HttpServer::Serve> serve) {
  boost::system::error_code error;
  socket.set_option(tcp::no_delay(true), error);
  TlsStream stream(beast::tcp_stream(std::move(socket)), *context);
  co_await stream.async_handshake(asio::ssl::stream_base::server, redirect_error(use_awaitable, error));
  beast::flat_buffer buffer;
  while (!error) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(kBodyBytesMax);
    parser.header_limit(kHeaderBytesMax);
    co_await http::async_read(stream, buffer, parser, redirect_error(use_awaitable, error));
    if (error) break;
    const WireRequest wire = parser.release();
    OneExchange exchange(stream, wire);
    if (!exchange.good()) {
      Response refused;
      refused.status = 400;
      co_await exchange.answer(std::move(refused));
      break;
    }
    co_await (*serve)(exchange);
    if (!exchange.goes_on()) break;
  }
  if (!beast::get_lowest_layer(stream).socket().is_open()) co_return;
  co_await stream.async_shutdown(redirect_error(use_awaitable, error));
}

class Listening final : public HttpServer {
 public:
  Listening(asio::any_io_executor executor, std::shared_ptr<asio::ssl::context> context, Serve serve)
      : acceptor_(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        context_(std::move(context)),
        serve_(std::make_shared<Serve>(std::move(serve))) {
    asio::co_spawn(executor, accept(), asio::detached);
  }

  std::uint16_t port() const override { return acceptor_.local_endpoint().port(); }

 private:
  Task<void> accept() {
    while (true) {
      boost::system::error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(redirect_error(use_awaitable, error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) continue;
      const asio::any_io_executor executor = acceptor_.get_executor();
      asio::co_spawn(executor, serve_connection(std::move(socket), context_, serve_),
                     [](std::exception_ptr thrown) {
                       if (!thrown) return;
                       try {
                         std::rethrow_exception(thrown);
                       } catch (const std::exception& what) {
                         std::fprintf(stderr, "a connection ended by an exception: %s\n", what.what());
                       }
                     });
    }
  }

  tcp::acceptor acceptor_;
  std::shared_ptr<asio::ssl::context> context_;
  std::shared_ptr<Serve> serve_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(asio::any_io_executor executor,
                                                     const Certificates& certificates, Serve serve) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  boost::system::error_code error;
  context->use_certificate_chain(asio::buffer(certificates.certificate), error);
  if (!error) context->use_private_key(asio::buffer(certificates.key), asio::ssl::context::pem, error);
  if (error) return fail(ErrorKind::kInternal, "the certificate cannot be used: " + error.message());
  try {
    return std::make_unique<Listening>(std::move(executor), std::move(context), std::move(serve));
  } catch (const boost::system::system_error& thrown) {
    return fail(ErrorKind::kUnavailable, std::string("cannot listen on loopback: ") + thrown.what());
  }
}

}  // namespace berth::standins
