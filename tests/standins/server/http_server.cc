#include "tests/standins/server/http_server.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cctype>
#include <cstdio>

#include "tests/standins/server/connection.h"

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
constexpr std::size_t kReadBytes = 65536;

// All of a reply before its body but what tells the body's end.
std::string head_of(const Response& response, bool keep_alive) {
  const std::string_view reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " + std::string(reason) + "\r\n";
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (!response.type.empty()) add("Content-Type", response.type);
  for (const auto& [name, value] : response.headers) add(name, value);
  if (!keep_alive) add("Connection", "close");
  return head;
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
  OneExchange(Connection& connection, const WireRequest& wire)
      : connection_(connection), wire_(wire), request_(make_request(wire)) {
    good_ = split_target(&request_);
  }

  bool good() const { return good_; }
  // Whether the next request may follow on this connection.
  bool goes_on() const { return answered_ && !closed_ && wire_.keep_alive(); }

  const Request& request() const override { return request_; }

  Task<void> answer(Response response) override {
    std::string bytes = head_of(response, wire_.keep_alive());
    // A reply without a body says so by having no length, too.
    if (response.status != 204) bytes += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    bytes += "\r\n";
    bytes += response.body;
    co_await put(std::move(bytes));
    answered_ = true;
  }

  Task<bool> begin(Response head) override {
    return put(head_of(head, wire_.keep_alive()) + "Transfer-Encoding: chunked\r\n\r\n");
  }

  Task<bool> write(std::string bytes) override {
    if (bytes.empty()) co_return !closed_;
    // In one piece: each buffer would be a record of TLS, and a packet, of its own.
    char size[20];
    bytes.insert(0, size, static_cast<std::size_t>(std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size())));
    bytes += "\r\n";
    const bool written = co_await put(std::move(bytes));
    co_return written;
  }

  Task<void> finish() override {
    co_await put("0\r\n\r\n");
    answered_ = true;
  }

  void drop() override {
    closed_ = true;
    connection_.close();
  }

  Task<void> stall() override {
    char ignored = 0;
    while (true) {
      const std::size_t bytes = co_await connection_.read(asio::buffer(&ignored, 1));
      if (bytes == 0) break;
    }
    drop();
  }

  Task<bool> upgrade(std::string protocol) override {
    socket_ = make_web_socket(connection_, wire_);
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
  Task<bool> put(std::string bytes) {
    if (closed_) co_return false;
    const bool written = co_await connection_.write(bytes);
    closed_ = closed_ || !written;
    co_return !closed_;
  }

  Connection& connection_;
  const WireRequest& wire_;
  Request request_;
  bool good_ = false;
  bool answered_ = false;
  bool closed_ = false;
  std::unique_ptr<WebSocket> socket_;
};

// The next request, or nothing when the client is gone or does not speak HTTP. `buffer` keeps what follows it.
Task<std::optional<WireRequest>> next_request(Connection& connection, beast::flat_buffer& buffer) {
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(kBodyBytesMax);
  parser.header_limit(kHeaderBytesMax);
  while (true) {
    boost::system::error_code error;
    if (buffer.size() > 0) buffer.consume(parser.put(buffer.data(), error));
    if (error && error != http::error::need_more) co_return std::nullopt;
    if (parser.is_done()) break;
    const std::size_t bytes = co_await connection.read(buffer.prepare(kReadBytes));
    if (bytes == 0) co_return std::nullopt;
    buffer.commit(bytes);
  }
  co_return parser.release();
}

Task<void> serve_connection(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> context,
                            std::shared_ptr<HttpServer::Serve> serve) {
  Connection connection(std::move(socket), *context);
  const bool secured = co_await connection.handshake();
  if (!secured) co_return;
  beast::flat_buffer buffer;
  while (true) {
    const std::optional<WireRequest> wire = co_await next_request(connection, buffer);
    if (!wire) break;
    OneExchange exchange(connection, *wire);
    if (!exchange.good()) {
      Response refused;
      refused.status = 400;
      co_await exchange.answer(std::move(refused));
      break;
    }
    co_await (*serve)(exchange);
    if (!exchange.goes_on()) break;
  }
  co_await connection.shut_down();
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
