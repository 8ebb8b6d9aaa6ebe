// Probes 40 to 44: every way out to a network. Nothing here sends a packet to a real network: the tests
// run in a network namespace of their own, where these addresses are the test's.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "probe.h"

namespace berth::attack {
namespace {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  int family = AF_UNSPEC;
};

Address make_address(const char* text, int port) {
  Address made;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&made.bytes);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&made.bytes);
  if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    made.family = AF_INET;
    made.size = sizeof(sockaddr_in);
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
  } else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
    made.family = AF_INET6;
    made.size = sizeof(sockaddr_in6);
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
  }
  made.bytes.ss_family = static_cast<sa_family_t>(made.family);
  return made;
}

long connect_to(const char* text, int port) {
  const Address address = make_address(text, port);
  const int fd = socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  long result = connect(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.size);
  if (result != 0 && errno == EINPROGRESS) {
    pollfd watched{fd, POLLOUT, 0};
    int error = ETIMEDOUT;
    socklen_t size = sizeof(error);
    if (poll(&watched, 1, 5000) == 1) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    result = error == 0 ? 0 : -1;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

long send_to(const char* text, int port) {
  const Address address = make_address(text, port);
  const int fd = socket(address.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const long sent =
      sendto(fd, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address.bytes), address.size);
  const int error = errno;
  close(fd);
  errno = error;
  return sent;
}

int host_port() { return std::atoi(given("HOST_PORT")); }

void reach_hosts_and_metadata() {
  for (const char* address :
       {"127.0.0.1", "::1", "0.0.0.0", "169.254.169.254", "100.100.100.200", "10.0.0.1",
        "::ffff:169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"}) {
    say_result(address, connect_to(address, host_port()));
  }
}

void use_other_protocols() {
  say_result("UDP to a global IPv4 address", send_to("8.8.8.8", 443));
  say_result("UDP to a global IPv6 address", send_to("2001:4860:4860::8888", 443));
  say_result("UDP to a unique local address", send_to("fd00:ec2::254", 443));
  say_result("TCP to a global IPv6 address", connect_to("2001:4860:4860::8888", host_port()));
  say_result("ICMP", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
  say_result("SCTP", socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
  constexpr int kDccpType = 6;
  say_result("DCCP", socket(AF_INET, kDccpType, 33));
}

void ask_for_names() {
  say_result("UDP 53 to a resolver", send_to("8.8.8.8", 53));
  say_result("TCP 53 to a resolver", connect_to("8.8.8.8", 53));
  say_result("TCP 853 to a resolver", connect_to("8.8.8.8", 853));
  say_result("UDP 53 to the host's own resolver", send_to("127.0.0.53", 53));
  say_result("multicast DNS", send_to("224.0.0.251", 5353));
  static char text[4096];
  read_start("/etc/resolv.conf", text, sizeof(text));
  say("name servers told", strstr(text, "nameserver") == nullptr ? "none" : "some");
}

void use_a_proxy_of_the_host() {
  say_result("CONNECT by a proxy on loopback", connect_to("127.0.0.1", host_port()));
  say_result("CONNECT by a proxy on the gateway", connect_to("10.0.0.1", host_port()));
  const char* const names[] = {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
  bool told = false;
  for (const char* name : names) told = told || given(name)[0] != '\0';
  say("proxies told by the environment", told ? "some" : "none");
}

}  // namespace

const Program kNetworkPrograms[] = {{"reach_hosts_and_metadata", reach_hosts_and_metadata},
                                    {"use_other_protocols", use_other_protocols},
                                    {"ask_for_names", ask_for_names},
                                    {"use_a_proxy_of_the_host", use_a_proxy_of_the_host},
                                    {nullptr, nullptr}};

}  // namespace berth::attack
