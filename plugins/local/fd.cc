#include "fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace berth::local {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    raw_ = std::exchange(other.raw_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (raw_ >= 0) close(std::exchange(raw_, -1));
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::optional<std::string> read_small_file(const std::string& path, std::size_t bytes_max) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return std::nullopt;
  std::string text;
  char piece[4096];
  while (text.size() < bytes_max) {
    const ssize_t got = read(fd.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

int write_control(const std::string& path, std::string_view text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return errno;
  return write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

int write_fully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written == 0 ? EIO : errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace berth::local
