#include "helper/clocks.h"

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace berth::local {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// Zero itself means "unset" to too many programs.
constexpr std::int64_t kFirstUptime = 100 * kSecond;
constexpr char kOffsetsFile[] = "/proc/self/timens_offsets";

struct Clock {
  clockid_t id;
  const char* name;
};
constexpr Clock kClocks[] = {{CLOCK_MONOTONIC, "monotonic"}, {CLOCK_BOOTTIME, "boottime"}};

std::int64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * kSecond + now.tv_nsec;
}

// How far a clock is ahead of the host's so that it begins at its start now.
std::int64_t ahead_for(const Clock& clock, const ClockStart& start) {
  const std::int64_t host = now_ns(clock.id) - start.ahead_ns;
  if (start.first_ns != 0) return start.first_ns - host;
  return host > kFirstUptime ? kFirstUptime - host : 0;
}

}  // namespace

ClockStarts clocks_from_now() {
  ClockStarts starts{};
  char text[256];
  const int fd = open(kOffsetsFile, O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
  if (fd >= 0) close(fd);
  if (size <= 0) return starts;  // a kernel without such namespaces
  text[size] = '\0';
  for (std::size_t i = 0; i < 2; ++i) {
    const char* const line = std::strstr(text, kClocks[i].name);
    if (line == nullptr) continue;
    char* at = nullptr;
    const long long seconds = std::strtoll(line + std::strlen(kClocks[i].name), &at, 10);
    starts.of[i].ahead_ns = seconds * kSecond + std::strtoll(at, nullptr, 10);
    starts.of[i].first_ns = now_ns(kClocks[i].id);
  }
  return starts;
}

int enter_time_namespace(const ClockStarts& starts) {
  if (unshare(CLONE_NEWTIME) != 0) return errno;
  char text[160];
  int size = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t ahead = ahead_for(kClocks[i], starts.of[i]);
    const std::int64_t part = ((ahead % kSecond) + kSecond) % kSecond;
    size += std::snprintf(text + size, sizeof(text) - static_cast<std::size_t>(size), "%s %lld %lld\n",
                          kClocks[i].name, static_cast<long long>((ahead - part) / kSecond),
                          static_cast<long long>(part));
  }
  const int fd = open(kOffsetsFile, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = write(fd, text, static_cast<std::size_t>(size)) == size ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace berth::local
