// in_own_network PROGRAM [ARGUMENT...]
//
// Runs a program in a network namespace of its own whose loopback interface has the addresses that attacks
// are after, so that no packet leaves the machine and a server of the test can stand for every one of them.
// Where it is started by an ordinary user, it just runs the program.
#include <arpa/inet.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <net/route.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace {

void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

sockaddr address_of(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text, &address.sin_addr);
  sockaddr plain{};
  std::memcpy(&plain, &address, sizeof(plain));
  return plain;
}

void add_ipv4(int socket, int index, const char* text) {
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof(request.ifr_name), "lo:%d", index);
  request.ifr_addr = address_of(text);
  if (ioctl(socket, SIOCSIFADDR, &request) != 0) fail(text);
  request.ifr_netmask = address_of("255.255.255.255");
  if (ioctl(socket, SIOCSIFNETMASK, &request) != 0) fail(text);
}

void add_ipv6(int socket, const char* text) {
  in6_ifreq request{};
  inet_pton(AF_INET6, text, &request.ifr6_addr);
  request.ifr6_prefixlen = 128;
  request.ifr6_ifindex = static_cast<int>(if_nametoindex("lo"));
  if (ioctl(socket, SIOCSIFADDR, &request) != 0) fail(text);
}

void prepare() {
  const int v4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq up{};
  std::strcpy(up.ifr_name, "lo");
  up.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  if (ioctl(v4, SIOCSIFFLAGS, &up) != 0) fail("raising loopback");
  int index = 1;
  for (const char* text : {"169.254.169.254", "100.100.100.200", "10.0.0.1", "8.8.8.8"}) {
    add_ipv4(v4, index++, text);
  }
  // Multicast goes where the default route leads.
  char device[] = "lo";
  rtentry route{};
  route.rt_dst = route.rt_genmask = address_of("0.0.0.0");
  route.rt_flags = RTF_UP;
  route.rt_dev = device;
  if (ioctl(v4, SIOCADDRT, &route) != 0) fail("adding the default route");
  const int v6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const char* text : {"fd00:ec2::254", "64:ff9b::a9fe:a9fe", "2001:4860:4860::8888"}) {
    add_ipv6(v6, text);
  }
  // An ordinary user's server stands for the host's, wherever that listens.
  std::ofstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") << "0";
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: in_own_network PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  if (geteuid() == 0) {
    if (unshare(CLONE_NEWNET) != 0) fail("making a network namespace");
    prepare();
  }
  execv(arguments[1], arguments + 1);
  fail(arguments[1]);
}
