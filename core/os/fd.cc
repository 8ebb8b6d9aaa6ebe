#include "core/os/fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/ids.h"

namespace berth::os {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    raw_ = std::exchange(other.raw_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (raw_ >= 0) ::close(std::exchange(raw_, -1));
}

Result<Fd> open_file(const std::filesystem::path& path, int flags, unsigned mode) {
  const int raw = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (raw < 0) return fail(os_error(errno, fmt::format("cannot open {}", path.string())));
  return Fd(raw);
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0) {
      if (errno == EINTR) continue;
      return fail(os_error(errno, "cannot write"));
    }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

namespace {

// Hands every piece that is read of `fd` to `take`, which says whether it could be used.
template <typename Take>
Status for_each_piece(int fd, std::size_t bytes_max, std::string_view what, Take take) {
  std::array<char, 65536> chunk;
  std::size_t bytes = 0;
  for (;;) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      return fail(os_error(errno, fmt::format("cannot read {}", what)));
    }
    if (got == 0) return {};
    bytes += static_cast<std::size_t>(got);
    if (bytes > bytes_max)
      return fail(ErrorKind::kLimit,
                  fmt::format("{} has more than the {} bytes that are read of it", what, bytes_max));
    BERTH_CHECK_OK(take(std::string_view(chunk.data(), static_cast<std::size_t>(got))));
  }
}

Result<Fd> memory_file(std::string_view name) {
  Fd fd(::memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fail(os_error(errno, "cannot make a memory file"));
  return fd;
}

Status seal(const Fd& fd) {
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(os_error(errno, "cannot seal a memory file"));
  return {};
}

}  // namespace

Result<std::string> read_all(int fd, std::size_t bytes_max, std::string_view what) {
  std::string bytes;
  BERTH_CHECK_OK(for_each_piece(fd, bytes_max, what, [&bytes](std::string_view piece) -> Status {
    bytes += piece;
    return {};
  }));
  return bytes;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max) {
  BERTH_TRY(const Fd fd, open_file(path, O_RDONLY));
  return read_all(fd.get(), bytes_max, path.string());
}

Status replace_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
  const std::filesystem::path next = fmt::format("{}.{}", path.string(), random_hex(8));
  // The caller knows `path`; the name of what stands beside it for a moment would tell nobody anything.
  {
    const Fd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.valid()) return fail(os_error(errno, fmt::format("cannot write {}", path.string())));
    Status written = write_all(fd.get(), bytes);
    if (written && ::fsync(fd.get()) != 0)
      written = fail(os_error(errno, fmt::format("cannot flush {}", path.string())));
    if (!written) {
      ::unlink(next.c_str());
      return fail(written.error().with(path.string()));
    }
  }
  if (::rename(next.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(next.c_str());
    return fail(os_error(why, fmt::format("cannot replace {}", path.string())));
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  BERTH_TRY(const Fd directory, open_file(folder, O_RDONLY | O_DIRECTORY));
  if (::fsync(directory.get()) != 0)
    return fail(os_error(errno, fmt::format("cannot flush {}", folder.string())));
  return {};
}

Result<Fd> sealed_memfd(std::string_view name, std::string_view bytes) {
  BERTH_TRY(Fd fd, memory_file(name));
  BERTH_CHECK_OK(write_all(fd.get(), bytes));
  BERTH_CHECK_OK(seal(fd));
  return fd;
}

Result<Fd> sealed_copy(std::string_view name, int fd, std::size_t bytes_max, std::string_view what) {
  BERTH_TRY(Fd copy, memory_file(name));
  BERTH_CHECK_OK(for_each_piece(fd, bytes_max, what,
                                [&copy](std::string_view piece) { return write_all(copy.get(), piece); }));
  BERTH_CHECK_OK(seal(copy));
  return copy;
}

}  // namespace berth::os
