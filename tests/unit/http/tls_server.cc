#include "tests/unit/http/tls_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace berth::http::tests {
namespace {

int listen_on_loopback(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd, 64) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("a test server cannot listen on loopback");
  port = ntohs(address.sin_port);
  return fd;
}

void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

Peer::Peer(int fd, SSL_CTX* context, int number)
    : fd_(fd), ssl_(context == nullptr ? nullptr : SSL_new(context)), number_(number) {
  if (ssl_ != nullptr) SSL_set_fd(ssl_, fd_);
}

Peer::~Peer() {
  if (ssl_ != nullptr) SSL_free(ssl_);
}

bool Peer::accept() { return ssl_ == nullptr || SSL_accept(ssl_) == 1; }

std::string Peer::read_some() {
  char buffer[4096];
  const auto got = ssl_ == nullptr ? ::read(fd_, buffer, sizeof buffer)
                                   : static_cast<ssize_t>(SSL_read(ssl_, buffer, sizeof buffer));
  return got <= 0 ? std::string() : std::string(buffer, static_cast<std::size_t>(got));
}

std::optional<std::string> Peer::head() {
  for (;;) {
    const auto end = kept_.find("\r\n\r\n");
    if (end != std::string::npos) {
      std::string out = kept_.substr(0, end + 4);
      kept_.erase(0, end + 4);
      return out;
    }
    const std::string more = read_some();
    if (more.empty()) return std::nullopt;
    kept_ += more;
  }
}

std::string Peer::exactly(std::size_t bytes) {
  while (kept_.size() < bytes) {
    const std::string more = read_some();
    if (more.empty()) throw std::runtime_error("the client ended early");
    kept_ += more;
  }
  std::string out = kept_.substr(0, bytes);
  kept_.erase(0, bytes);
  return out;
}

std::optional<std::string> Peer::request() {
  auto out = head();
  if (!out) return std::nullopt;
  constexpr std::string_view kLength = "Content-Length: ";
  if (const auto at = out->find(kLength); at != std::string::npos) {
    std::size_t bytes = 0;
    std::from_chars(out->data() + at + kLength.size(), out->data() + out->size(), bytes);
    *out += exactly(bytes);
  }
  return out;
}

void Peer::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ssl_ == nullptr
                          ? ::write(fd_, bytes.data(), bytes.size())
                          : static_cast<ssize_t>(SSL_write(
                                ssl_, bytes.data(),
                                static_cast<int>(std::min<std::size_t>(bytes.size(), 16'384))));
    if (sent <= 0) throw std::runtime_error("the client is gone");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Peer::answer(int status, std::string_view body, std::string_view more_fields) {
  write("HTTP/1.1 " + std::to_string(status) +
        " Status\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
        std::string(more_fields) + "\r\n" + std::string(body));
}

void Peer::close() {
  if (ssl_ != nullptr) SSL_shutdown(ssl_);
  ::shutdown(fd_, SHUT_WR);
}

void Peer::reset() {
  const struct ::linger hard { 1, 0 };
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

void Peer::linger() {
  while (!read_some().empty()) {
  }
}

TlsServer::TlsServer(const Identity& identity, Serve serve, ServerOptions options)
    : serve_(std::move(serve)), options_(options), context_(SSL_CTX_new(TLS_server_method())) {
  SSL_CTX_use_certificate(context_, identity.certificate.get());
  SSL_CTX_use_PrivateKey(context_, identity.key.get());
  if (options_.max_version != 0) {
    // A server as old as that would do what today's defaults refuse.
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, options_.max_version);
  }
  listener_ = listen_on_loopback(port_);
  acceptor_ = std::thread([this] { accept_all(); });
}

TlsServer::~TlsServer() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  SSL_CTX_free(context_);
}

void TlsServer::accept_all() {
  block_signals();
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int number = ++connections_;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd, number] { run(fd, number); });
  }
}

void TlsServer::run(int fd, int number) {
  block_signals();
  {
    Peer peer(fd, options_.plain ? nullptr : context_, number);
    try {
      if (options_.reset_at_once)
        peer.reset();
      else if (peer.accept())
        serve_(peer);
    } catch (const std::runtime_error&) {
      // The client went; what the test asserts is on its side.
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
}

std::uint16_t closed_port() {
  std::uint16_t port = 0;
  ::close(listen_on_loopback(port));
  return port;
}

ConnectProxy::ConnectProxy(int status) : status_(status) {
  listener_ = listen_on_loopback(port_);
  acceptor_ = std::thread([this] { serve(); });
}

ConnectProxy::~ConnectProxy() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  for (std::thread& thread : threads_) thread.join();
}

std::vector<std::string> ConnectProxy::heads() {
  const std::lock_guard lock(mutex_);
  return heads_;
}

void ConnectProxy::serve() {
  block_signals();
  for (;;) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    threads_.emplace_back([this, client] {
      block_signals();
      pass(client);
      ::close(client);
    });
  }
}

void ConnectProxy::pass(int client) {
  std::string head;
  char buffer[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    const auto got = ::read(client, buffer, sizeof buffer);
    if (got <= 0) return;
    head.append(buffer, static_cast<std::size_t>(got));
  }
  {
    const std::lock_guard lock(mutex_);
    heads_.push_back(head);
  }
  const std::string answer = "HTTP/1.1 " + std::to_string(status_) + " Status\r\n\r\n";
  if (::write(client, answer.data(), answer.size()) < 0 || status_ != 200) return;
  std::uint16_t port = 0;
  const auto colon = head.find(':');
  std::from_chars(head.data() + colon + 1, head.data() + head.size(), port);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool open = ::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  while (open && !stopping_) {
    pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    if (::poll(ends, 2, 50) <= 0) continue;
    for (int from = 0; from < 2 && open; ++from) {
      if ((ends[from].revents & (POLLIN | POLLHUP)) == 0) continue;
      const auto got = ::read(ends[from].fd, buffer, sizeof buffer);
      open = got > 0 && ::write(ends[1 - from].fd, buffer, static_cast<std::size_t>(got)) == got;
    }
  }
  ::close(server);
}

}  // namespace berth::http::tests
