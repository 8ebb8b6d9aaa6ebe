#include "plugins/http/tls_context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace berth::http {
namespace {

Wire& wire_of(BIO* bio) { return *static_cast<Wire*>(BIO_get_data(bio)); }

int transfer_result(BIO* bio, ssize_t count, int retry_flag) {
  BIO_clear_retry_flags(bio);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(count);
}

int wire_write(BIO* bio, const char* bytes, int size) {
  errno = 0;
  const ssize_t sent =
      ::send(wire_of(bio).fd, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) wire_of(bio).written += static_cast<std::uint64_t>(sent);
  return transfer_result(bio, sent, BIO_FLAGS_WRITE);
}

int wire_read(BIO* bio, char* buffer, int size) {
  errno = 0;
  const ssize_t got = ::recv(wire_of(bio).fd, buffer, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  // What comes after this makes the socket ready anew.
  wire_of(bio).drained = got < size && got != 0;
  return transfer_result(bio, got, BIO_FLAGS_READ);
}

long wire_control(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
    case BIO_CTRL_DUP:
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    default:
      return 0;
  }
}

bool is_address(const std::string& host) {
  unsigned char address[16];
  return ::inet_pton(AF_INET, host.c_str(), address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address) == 1;
}

std::string first_error() {
  char text[256] = "no reason given";
  if (const unsigned long code = ERR_get_error(); code != 0)
    ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

}  // namespace

TlsContext::TlsContext(const std::string& trust_file) {
  context_ = SSL_CTX_new(TLS_client_method());
  method_ = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "berth wire");
  if (context_ == nullptr || method_ == nullptr)
    throw std::runtime_error("tls cannot be used here: " + first_error());
  BIO_meth_set_write(method_, wire_write);
  BIO_meth_set_read(method_, wire_read);
  BIO_meth_set_ctrl(method_, wire_control);
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_security_level(context_, 2);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  // A connection that waits then holds neither a read nor a write buffer.
  SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // The head of a record and the rest of it in one reading.
  SSL_CTX_set_read_ahead(context_, 1);
  SSL_CTX_set_options(context_, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  constexpr unsigned char kProtocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context_, kProtocols, sizeof kProtocols - 1);
  SSL_CTX_set_default_verify_paths(context_);
  ERR_clear_error();  // a machine without a store of its own trusts the file alone
  if (!trust_file.empty() &&
      SSL_CTX_load_verify_locations(context_, trust_file.c_str(), nullptr) != 1) {
    const std::string why = first_error();
    SSL_CTX_free(context_);
    BIO_meth_free(method_);
    throw std::runtime_error("the authorities in " + trust_file + " cannot be read: " + why);
  }
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
  BIO_meth_free(method_);
}

SslPtr TlsContext::session(const std::string& host) const {
  SslPtr ssl(SSL_new(context_));
  if (!ssl) throw std::bad_alloc();
  X509_VERIFY_PARAM* const checks = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool named = is_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(checks, host.c_str()) == 1
                                      : X509_VERIFY_PARAM_set1_host(checks, host.c_str(), 0) == 1 &&
                                            SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
  if (!named) throw std::runtime_error("tls cannot check the host name: " + first_error());
  return ssl;
}

SslPtr TlsContext::connection(Wire& wire, const std::string& host) const {
  SslPtr ssl = session(host);
  BIO* const bio = BIO_new(method_);
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, &wire);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  return ssl;
}

SslPtr TlsContext::inside(SslPtr carrier, const std::string& host) const {
  SslPtr ssl = session(host);
  BIO* const bio = BIO_new(BIO_f_ssl());
  if (bio == nullptr) throw std::bad_alloc();
  // When the filter goes it would say farewell on a descriptor that may be another's by then.
  SSL_set_quiet_shutdown(carrier.get(), 1);
  BIO_set_ssl(bio, carrier.release(), BIO_CLOSE);
  SSL_set_bio(ssl.get(), bio, bio);
  return ssl;
}

}  // namespace berth::http
