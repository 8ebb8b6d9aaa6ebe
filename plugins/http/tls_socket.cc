#include "plugins/http/tls_socket.h"

#include <openssl/err.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace berth::http {
namespace {

constexpr std::size_t kTransferBytesMax = std::size_t{1} << 30;

int size_of(std::size_t bytes) { return static_cast<int>(std::min(bytes, kTransferBytesMax)); }

}  // namespace

TlsSocket::TlsSocket(Tcp::socket socket, const TlsContext& context, const std::string& host)
    : socket_(std::move(socket)),
      wire_{socket_.native_handle(), 0, false},
      ssl_(context.connection(wire_, host)) {}

void TlsSocket::enter_tunnel(const TlsContext& context, const std::string& host) {
  ssl_ = context.inside(std::move(ssl_), host);
  tunnelled_ = true;
}

Step TlsSocket::step_of(int result) {
  Step step;
  if (result > 0) {
    step.bytes = static_cast<std::size_t>(result);
    return step;
  }
  const int system = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      step.wants = Step::Wants::kRead;
      break;
    case SSL_ERROR_WANT_WRITE:
      step.wants = Step::Wants::kWrite;
      break;
    case SSL_ERROR_ZERO_RETURN:
      step.ended = true;
      break;
    case SSL_ERROR_SYSCALL:
      step.error = system == 0
                       ? boost::system::error_code(boost::asio::error::eof)
                       : boost::system::error_code(system, boost::system::system_category());
      break;
    default: {
      const unsigned long code = ERR_peek_error();
      if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        step.error = boost::asio::error::eof;
      else
        step.error.assign(static_cast<int>(code), boost::asio::error::get_ssl_category());
    }
  }
  ERR_clear_error();
  return step;
}

Step TlsSocket::try_handshake() {
  ERR_clear_error();
  errno = 0;
  return step_of(SSL_connect(ssl_.get()));
}

Step TlsSocket::try_read(std::span<char> buffer) {
  ERR_clear_error();
  errno = 0;
  return step_of(SSL_read(ssl_.get(), buffer.data(), size_of(buffer.size())));
}

Step TlsSocket::try_write(std::string_view bytes) {
  ERR_clear_error();
  errno = 0;
  return step_of(SSL_write(ssl_.get(), bytes.data(), size_of(bytes.size())));
}

boost::asio::awaitable<void> TlsSocket::wait(Step::Wants wants) {
  const auto direction =
      wants == Step::Wants::kWrite ? Tcp::socket::wait_write : Tcp::socket::wait_read;
  co_await socket_.async_wait(direction, boost::asio::use_awaitable);
}

bool TlsSocket::is_drained() const {
  // What the outer TLS of a tunnel holds back is not looked for.
  return wire_.drained && !tunnelled_ && SSL_has_pending(ssl_.get()) == 0;
}

bool TlsSocket::is_idle() {
  if (!socket_.is_open()) return false;
  ERR_clear_error();
  errno = 0;
  char byte = 0;
  // Takes in what belongs to TLS itself, such as session tickets.
  const Step step = step_of(SSL_peek(ssl_.get(), &byte, 1));
  return step.wants == Step::Wants::kRead;
}

void TlsSocket::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

std::string TlsSocket::verify_error() const {
  const long result = SSL_get_verify_result(ssl_.get());
  return result == X509_V_OK ? std::string() : X509_verify_cert_error_string(result);
}

}  // namespace berth::http
