// What all TLS connections of a client share: trust, protocol versions, small buffers.
//
// There is no way to connect without verification: a certificate has to lead to an authority of the
// system's store (SSL_CERT_FILE and SSL_CERT_DIR move that store, as everywhere) or of the file
// given here, and to name the host. Made once, used on one thread; it outlives its connections.
#ifndef BERTH_PLUGINS_HTTP_TLS_CONTEXT_H_
#define BERTH_PLUGINS_HTTP_TLS_CONTEXT_H_

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

namespace berth::http {

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, SslDeleter>;

// A connected socket as TLS uses it. It outlives the connection that is made on it.
struct Wire {
  int fd = -1;
  std::uint64_t written = 0;  // bytes that the kernel took
  bool drained = false;       // the last reading took all there was
};

class TlsContext {
 public:
  // `trust_file`: authorities in PEM that are trusted besides the system's; empty: none. Throws
  // std::runtime_error when it cannot be read.
  explicit TlsContext(const std::string& trust_file);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  // A client's end on a connected socket, which stays the caller's.
  SslPtr connection(Wire& wire, const std::string& host) const;
  // A client's end within another one, which leads to somebody who passes bytes on to the host.
  SslPtr inside(SslPtr carrier, const std::string& host) const;

 private:
  SslPtr session(const std::string& host) const;  // that is on no connection yet

  SSL_CTX* context_ = nullptr;
  BIO_METHOD* method_ = nullptr;  // sends without SIGPIPE, never waits, counts
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_TLS_CONTEXT_H_
