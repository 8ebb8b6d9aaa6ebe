#include "core/execution/install/fetch.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <list>
#include <utility>

#include "core/execution/install/http.h"

namespace berth::install {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

}  // namespace

// One connection with the timer that watches it.
class Fetcher::Connection {
 public:
  Connection(const asio::any_io_executor& executor, Duration idle)
      : resolver_(executor), socket_(executor), timer_(executor), idle_(idle) {}

  tcp::resolver& resolver() { return resolver_; }
  tcp::socket& socket() { return socket_; }

  // Progress was made: the time runs anew.
  void watch(const std::shared_ptr<Connection>& self) {
    timer_.expires_after(idle_);
    timer_.async_wait([self](error_code error) {
      if (error) return;
      self->late_ = true;
      self->end();
    });
  }
  void rest() { timer_.cancel(); }
  void end() {
    error_code ignored;
    resolver_.cancel();
    socket_.close(ignored);
  }
  Error error(const error_code& code, const Url& url) const {
    if (late_) {
      return {ErrorKind::kTimeout,
              fmt::format("{}: nothing came for {}", url.display(), to_human(idle_))};
    }
    return {ErrorKind::kUnavailable, fmt::format("{}: {}", url.display(), code.message())};
  }

 private:
  tcp::resolver resolver_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  Duration idle_;
  bool late_ = false;
};

struct Fetcher::Parts {
  FetchOptions options;
  std::list<std::weak_ptr<Connection>> open;
  bool closed = false;

  Result<std::unique_ptr<asio::ssl::context>> tls(bool verify) const;
  Task<Status> connect(std::shared_ptr<Connection> connection, const Url& url);
  template <class Stream>
  Task<Status> exchange(Stream& stream, std::shared_ptr<Connection> connection, const Url& url,
                        std::string_view request, FetchSink& sink);
  template <class Stream>
  Task<Result<std::string>> read_until_body(Stream& stream, std::shared_ptr<Connection> connection,
                                            const Url& url);
};

Result<std::unique_ptr<asio::ssl::context>> Fetcher::Parts::tls(bool verify) const {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  error_code error;
  context->set_default_verify_paths(error);
  if (!options.certificates.empty()) {
    context->load_verify_file(options.certificates.string(), error);
    if (error) {
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("python.certificates '{}' cannot be used: {}",
                              options.certificates.string(), error.message()));
    }
  }
  context->set_verify_mode(verify ? asio::ssl::verify_peer : asio::ssl::verify_none, error);
  return context;
}

Task<Status> Fetcher::Parts::connect(std::shared_ptr<Connection> connection, const Url& url) {
  connection->watch(connection);
  const std::string service = fmt::format("{}", url.port);
  const auto [lookup, found] =
      co_await connection->resolver().async_resolve(url.host, service, kToken);
  if (lookup) co_return fail(connection->error(lookup, url));
  const auto [failure, endpoint] = co_await asio::async_connect(connection->socket(), found, kToken);
  if (failure) co_return fail(connection->error(failure, url));
  connection->watch(connection);
  co_return Status();
}

template <class Stream>
Task<Result<std::string>> Fetcher::Parts::read_until_body(Stream& stream,
                                                          std::shared_ptr<Connection> connection,
                                                          const Url& url) {
  std::string text;
  std::array<char, 8192> buffer{};
  while (text.find("\r\n\r\n") == std::string::npos) {
    if (text.size() > kHeadBytesMax) {
      co_return fail(ErrorKind::kCorrupt,
                     fmt::format("{}: the answer's head is longer than {} bytes", url.display(), kHeadBytesMax));
    }
    const auto [error, count] = co_await stream.async_read_some(asio::buffer(buffer), kToken);
    if (error) co_return fail(connection->error(error, url));
    connection->watch(connection);
    text.append(buffer.data(), count);
  }
  co_return text;
}

template <class Stream>
Task<Status> Fetcher::Parts::exchange(Stream& stream, std::shared_ptr<Connection> connection,
                                      const Url& url, std::string_view request, FetchSink& sink) {
  const auto [sent, unused] = co_await asio::async_write(stream, asio::buffer(request), kToken);
  if (sent) co_return fail(connection->error(sent, url));
  connection->watch(connection);
  BERTH_CO_TRY(std::string text, co_await read_until_body(stream, connection, url));
  const std::size_t end = text.find("\r\n\r\n");
  bool chunked = false;
  auto head = read_head(std::string_view(text).substr(0, end), chunked);
  if (!head) co_return fail(head.error().with(url.display()));
  BERTH_CO_CHECK_OK(sink.on_head(*head));
  if (head->status != 200) co_return Status();
  std::string bytes = text.substr(end + 4);
  ChunkDecoder decoder;
  std::uint64_t count = 0;
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    if (chunked) {
      std::string decoded;
      const Status good = decoder.take(bytes, decoded);
      if (!good) co_return fail(good.error().with(url.display()));
      bytes = std::move(decoded);
    } else if (head->length && bytes.size() > *head->length - count) {
      bytes.resize(static_cast<std::size_t>(*head->length - count));
    }
    count += bytes.size();
    // The reader may be slow; that is not the index's fault.
    connection->rest();
    if (!bytes.empty()) BERTH_CO_CHECK_OK(co_await sink.on_data(bytes));
    if (closed) co_return fail(ErrorKind::kCancelled, fmt::format("{}: the install ended", url.display()));
    if (chunked ? decoder.ended() : head->length && count == *head->length) co_return Status();
    connection->watch(connection);
    const auto [error, got] = co_await stream.async_read_some(asio::buffer(buffer), kToken);
    if (error) {
      const bool whole = !chunked && !head->length && error != asio::error::operation_aborted;
      if (whole) co_return Status();
      co_return fail(connection->error(error, url));
    }
    bytes.assign(buffer.data(), got);
  }
}

Fetcher::Fetcher(FetchOptions options) : parts_(std::make_unique<Parts>()) {
  parts_->options = std::move(options);
}
Fetcher::~Fetcher() = default;

void Fetcher::close() {
  parts_->closed = true;
  for (const std::weak_ptr<Connection>& open : std::exchange(parts_->open, {})) {
    if (const auto connection = open.lock()) connection->end();
  }
}

Task<Status> Fetcher::get(Url url, std::string credentials, bool verify, FetchSink& sink) {
  if (parts_->closed) co_return fail(ErrorKind::kCancelled, "the install ended");
  const auto executor = co_await asio::this_coro::executor;
  const auto connection = std::make_shared<Connection>(executor, parts_->options.idle_timeout);
  parts_->open.remove_if([](const std::weak_ptr<Connection>& open) { return open.expired(); });
  parts_->open.push_back(connection);
  const std::string request = request_text(url, credentials);
  Status status = co_await parts_->connect(connection, url);
  if (status && !url.https) {
    status = co_await parts_->exchange(connection->socket(), connection, url, request, sink);
  } else if (status) {
    auto context = parts_->tls(verify);
    if (!context) {
      status = fail(context.error());
    } else {
      asio::ssl::stream<tcp::socket&> stream(connection->socket(), **context);
      error_code is_name;
      asio::ip::make_address(url.host, is_name);
      if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
      if (verify) stream.set_verify_callback(asio::ssl::host_name_verification(url.host));
      const auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::client, kToken);
      if (error) {
        status = fail(connection->error(error, url).with("no trusted TLS connection"));
      } else {
        status = co_await parts_->exchange(stream, connection, url, request, sink);
      }
    }
  }
  connection->rest();
  connection->end();
  co_return status;
}

}  // namespace berth::install
