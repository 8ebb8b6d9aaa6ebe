#include "template/touched.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace berth::local {
namespace {

constexpr std::uintptr_t kPage = 4096;
// What the kernel maps at once around a page of a file that is read.
constexpr std::uintptr_t kAround = 16 * kPage;
constexpr std::size_t kSpansMax = 2048;
// A program that does nothing ends in a moment.
constexpr int kLearnMilliseconds = 20'000;

struct Pages {
  std::uintptr_t first;
  std::uint32_t count;
  std::uint32_t written;
};

Pages spans[kSpansMax];
std::size_t spans_count = 0;
int learning = -1;  // in the copy: where to say it

void add(std::uintptr_t page, bool written) {
  if (spans_count > 0) {
    Pages& last = spans[spans_count - 1];
    const bool same_kind = last.written == (written ? 1u : 0u);
    if (same_kind && last.first + last.count * kPage == page) {
      ++last.count;
      return;
    }
    // One page brings the others of its surroundings.
    if (same_kind && !written && last.first / kAround == page / kAround) return;
  }
  if (spans_count < kSpansMax) spans[spans_count++] = {page, 1, written ? 1u : 0u};
}

// Of one mapping of this process. A page that is nobody else's was written to: what a fork did not
// write to is its parent's as well.
void add_pages(int map, std::uintptr_t first, std::uintptr_t last) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
  constexpr std::uint64_t kAlone = std::uint64_t{1} << 56;
  static std::uint64_t entries[512];
  while (first < last) {
    const std::size_t wanted = std::min<std::size_t>(512, (last - first) / kPage);
    const ssize_t got = pread(map, entries, wanted * 8, static_cast<off_t>(first / kPage * 8));
    if (got <= 0) return;
    const std::size_t count = static_cast<std::size_t>(got) / 8;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t entry = entries[i];
      if ((entry & kPresent) == 0) continue;
      const bool written = (entry & kAlone) != 0 && (entry & kOfFile) == 0;
      if (written || (entry & kOfFile) != 0) add(first + i * kPage, written);
    }
    first += count * kPage;
  }
}

void look() {
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (map < 0 || maps == nullptr) return;
  unsigned long first = 0;
  unsigned long last = 0;
  char rights[8];
  while (std::fscanf(maps, "%lx-%lx %7s%*[^\n]", &first, &last, rights) == 3) {
    // The kernel's own page, at the top.
    if (last <= (std::uintptr_t{1} << 47)) add_pages(map, first, last);
  }
}

void receive(int from) {
  char* at = reinterpret_cast<char*>(spans);
  std::size_t room = sizeof(spans);
  pollfd watched{from, POLLIN, 0};
  while (room > 0 && poll(&watched, 1, kLearnMilliseconds) == 1) {
    const ssize_t got = read(from, at, room);
    if (got <= 0) break;
    at += got;
    room -= static_cast<std::size_t>(got);
  }
  spans_count = (sizeof(spans) - room) / sizeof(Pages);
}

}  // namespace

bool learn_touched() {
  int pipe_of[2];
  if (pipe2(pipe_of, O_CLOEXEC) != 0) return false;
  const pid_t copy = fork();
  if (copy == 0) {
    learning = fcntl(pipe_of[1], F_DUPFD_CLOEXEC, 64);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd) dup2(nowhere, fd);
    close(nowhere);
    close(pipe_of[0]);
    close(pipe_of[1]);
    if (learning < 0) _exit(1);
    return true;
  }
  close(pipe_of[1]);
  if (copy > 0) {
    receive(pipe_of[0]);
    kill(copy, SIGKILL);
    while (waitpid(copy, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(pipe_of[0]);
  return false;
}

void tell_touched() {
  if (learning < 0) return;
  look();
  const char* at = reinterpret_cast<const char*>(spans);
  std::size_t left = spans_count * sizeof(Pages);
  while (left > 0) {
    const ssize_t written = write(learning, at, left);
    if (written <= 0) break;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  _exit(0);
}

void touch(Pace pace) {
  for (std::size_t i = 0; i < spans_count; ++i) {
    const Pages& span = spans[i];
    // What is not there in this fork is nothing to have.
    const int how = span.written != 0 ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    auto* const first = reinterpret_cast<volatile char*>(span.first);
    if (madvise(reinterpret_cast<void*>(span.first), span.count * kPage, how) != 0) continue;
    if (pace == Pace::kHurried) continue;
    // A virtual machine may keep tables of its own, which only use fills.
    for (std::size_t page = 0; page < span.count; ++page) {
      volatile char* const at = first + page * kPage;
      const char byte = *at;
      if (span.written != 0) *at = byte;
    }
  }
}

}  // namespace berth::local
