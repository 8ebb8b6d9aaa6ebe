#include "tests/standins/server/connection.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace berth::standins {

namespace asio = boost::asio;
using asio::redirect_error;
using asio::use_awaitable;
using boost::system::error_code;

Connection::Connection(Socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {
  error_code ignored;
  stream_.next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
}

void Connection::start_read(asio::mutable_buffer into, std::unique_ptr<MovedBytes> then) {
  stream_.async_read_some(into, [then = std::move(then)](error_code error, std::size_t bytes) {
    then->done(error, bytes);
  });
}

void Connection::start_write(asio::const_buffer from, std::unique_ptr<MovedBytes> then) {
  stream_.async_write_some(from, [then = std::move(then)](error_code error, std::size_t bytes) {
    then->done(error, bytes);
  });
}

Task<bool> Connection::handshake() {
  error_code error;
  co_await stream_.async_handshake(asio::ssl::stream_base::server, redirect_error(use_awaitable, error));
  co_return !error;
}

Task<void> Connection::shut_down() {
  if (!socket().is_open()) co_return;
  error_code ignored;
  co_await stream_.async_shutdown(redirect_error(use_awaitable, ignored));
}

Task<bool> Connection::write(std::string_view bytes) {
  error_code error;
  co_await asio::async_write(stream_, asio::buffer(bytes), redirect_error(use_awaitable, error));
  co_return !error;
}

Task<std::size_t> Connection::read(asio::mutable_buffer into) {
  error_code error;
  const std::size_t bytes = co_await stream_.async_read_some(into, redirect_error(use_awaitable, error));
  co_return error ? 0 : bytes;
}

void Connection::close() {
  error_code ignored;
  socket().close(ignored);
}

}  // namespace berth::standins
