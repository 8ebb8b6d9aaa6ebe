#include "template/image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace berth::local {
namespace {

// Address space alone. An interpreter with its packages takes some forty megabytes of it.
constexpr std::size_t kRoomBytes = std::size_t{512} << 20;
constexpr std::size_t kAlignment = std::size_t{1} << 20;

void* map_anonymous(std::size_t bytes, int protection) {
  void* const at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

bool write_whole(int fd, Span span) {
  while (span.bytes > 0) {
    const ssize_t written = write(fd, span.first, span.bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    span.first += written;
    span.bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

bool Gathered::reserve() {
  if (room_.first != nullptr) return true;
  void* const at = map_anonymous(kRoomBytes, PROT_NONE);
  if (at == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t aligned = (begin + kAlignment - 1) & ~(kAlignment - 1);
  room_ = {reinterpret_cast<char*>(aligned), kRoomBytes - (aligned - begin)};
  return true;
}

void* Gathered::take(std::size_t bytes) {
  constexpr int kUsable = PROT_READ | PROT_WRITE;
  const bool fits = !sealed_ && reserve() && bytes <= room_.bytes - used_ && bytes % kAlignment == 0;
  char* const at = room_.first + used_;
  if (!fits || mprotect(at, bytes, kUsable) != 0) return map_anonymous(bytes, kUsable);
  used_ += bytes;
  return at;
}

void Gathered::give_back(void* at, std::size_t bytes) {
  const auto* const first = static_cast<char*>(at);
  const bool inside = first >= room_.first && first < room_.first + used_;
  // A hole would be in the way of the file.
  if (inside && !sealed_) {
    madvise(at, bytes, MADV_DONTNEED);
  } else {
    munmap(at, bytes);
  }
}

int Gathered::seal() {
  sealed_ = true;
  if (room_.first == nullptr) return 0;
  munmap(room_.first + used_, room_.bytes - used_);
  return used_ == 0 ? 0 : make_file_of({room_.first, used_});
}

int make_file_of(Span span) {
  const int fd = memfd_create("berth-template", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return errno;
  // Nobody can write to it ever again: what is not private to a sandbox yet is the same for all.
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  constexpr int kUsable = PROT_READ | PROT_WRITE;
  const bool good = write_whole(fd, span) && fcntl(fd, F_ADD_SEALS, kSeals) == 0 &&
                    mmap(span.first, span.bytes, kUsable, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
  const int error = good ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace berth::local
