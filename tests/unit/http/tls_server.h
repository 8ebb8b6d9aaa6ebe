// A TLS server on loopback whose every connection does what the test says, on a thread of its own.
#ifndef BERTH_TESTS_UNIT_HTTP_TLS_SERVER_H_
#define BERTH_TESTS_UNIT_HTTP_TLS_SERVER_H_

#include <openssl/ssl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/http/authority.h"

namespace berth::http::tests {

// One end of a connection. Reading what never comes throws, which ends the connection's thread.
class Peer {
 public:
  Peer(int fd, SSL_CTX* context, int number);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  // False when the handshake failed.
  bool accept();
  // Up to and including the empty line; nothing when the client closed instead.
  std::optional<std::string> head();
  std::string exactly(std::size_t bytes);
  // A request with its Content-Length body; nothing when the client closed.
  std::optional<std::string> request();
  void write(std::string_view bytes);
  // A whole answer with a Content-Length.
  void answer(int status, std::string_view body, std::string_view more_fields = "");
  // Ends TLS in the proper way.
  void close();
  // Ends the connection with a reset.
  void reset();
  // Waits until the client goes.
  void linger();

  int number() const { return number_; }  // of the connection, from 1

 private:
  std::string read_some();

  int fd_;
  SSL* ssl_;
  int number_;
  std::string kept_;
};

struct ServerOptions {
  int max_version = 0;         // of TLS; 0: the newest
  bool plain = false;          // no TLS at all
  bool reset_at_once = false;  // instead of a handshake
};

class TlsServer {
 public:
  using Serve = std::function<void(Peer&)>;

  TlsServer(const Identity& identity, Serve serve, ServerOptions options = {});
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer();

  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }
  std::string url(std::string_view path = "/") const {
    return "https://localhost:" + std::to_string(port_) + std::string(path);
  }

 private:
  void accept_all();
  void run(int fd, int number);

  Serve serve_;
  ServerOptions options_;
  SSL_CTX* context_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex mutex_;  // guards the two below
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// A port of loopback that nobody listens on.
std::uint16_t closed_port();

// A proxy in the clear that CONNECTs to 127.0.0.1 whatever host is asked for, or answers `status`.
class ConnectProxy {
 public:
  explicit ConnectProxy(int status = 200);
  ~ConnectProxy();
  std::uint16_t port() const { return port_; }
  // The heads it was sent.
  std::vector<std::string> heads();

 private:
  void serve();
  void pass(int client);

  int status_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::vector<std::string> heads_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace berth::http::tests

#endif  // BERTH_TESTS_UNIT_HTTP_TLS_SERVER_H_
