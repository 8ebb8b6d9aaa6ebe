// One TLS connection on a socket of the event loop, without buffers of its own.
//
// OpenSSL reads and writes the socket directly, so a connection that waits costs its session and
// nothing more. The try_ steps never wait; the coroutines wait for what a step wants. One thread,
// one reader and one writer at a time. The TlsContext outlives it.
#ifndef BERTH_PLUGINS_HTTP_TLS_SOCKET_H_
#define BERTH_PLUGINS_HTTP_TLS_SOCKET_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plugins/http/tls_context.h"

namespace berth::http {

// One attempt: it moved some bytes, or it wants the socket to become ready, or it is over.
struct Step {
  enum class Wants { kNothing, kRead, kWrite };
  std::size_t bytes = 0;
  Wants wants = Wants::kNothing;
  bool ended = false;  // reading: the other side closed in the proper way
  boost::system::error_code error;
};

class TlsSocket {
 public:
  using Tcp = boost::asio::ip::tcp;

  TlsSocket(Tcp::socket socket, const TlsContext& context, const std::string& host);
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;

  // From here on a second TLS inside this one, whose other end passes bytes on to the host.
  void enter_tunnel(const TlsContext& context, const std::string& host);

  Step try_handshake();
  Step try_read(std::span<char> buffer);
  Step try_write(std::string_view bytes);

  // Waits until the socket may be ready. Throws boost::system::system_error, operation_aborted
  // when closed or cancelled meanwhile.
  boost::asio::awaitable<void> wait(Step::Wants wants);

  // Whether trying to read is bound to be in vain until the socket becomes ready.
  bool is_drained() const;
  // True when it is quiet and open: what a connection has to be to carry another request.
  bool is_idle();
  void close();

  // Bytes that the kernel has taken, the handshake included.
  std::uint64_t written() const { return wire_.written; }
  // Why the certificate was refused; empty when it was not.
  std::string verify_error() const;
  Tcp::socket& socket() { return socket_; }

 private:
  Step step_of(int result);

  Tcp::socket socket_;
  Wire wire_;
  bool tunnelled_ = false;
  SslPtr ssl_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_TLS_SOCKET_H_
