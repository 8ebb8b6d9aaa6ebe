// Fd: the one owner of a file descriptor. Nothing else in the project calls close.
#ifndef BERTH_CORE_OS_FD_H_
#define BERTH_CORE_OS_FD_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace berth::os {

// Owns a descriptor, or nothing. Movable so that it can be returned and stored; not shared.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int raw) : raw_(raw) {}
  Fd(Fd&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return raw_; }
  bool valid() const { return raw_ >= 0; }
  int release() { return std::exchange(raw_, -1); }
  void reset();

 private:
  int raw_ = -1;
};

// open(2) with O_CLOEXEC added. Errors name the path.
Result<Fd> open_file(const std::filesystem::path& path, int flags, unsigned mode = 0);

// Writes all of it, or fails. May block on a pipe or socket that is not non-blocking.
Status write_all(int fd, std::string_view bytes);

// Reads to the end, at most `bytes_max`; more is an error of kind kLimit. `what` names the source.
Result<std::string> read_all(int fd, std::size_t bytes_max, std::string_view what);
Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max);

// Replaces `path` whole: a file beside it, fsync, rename, fsync of the folder.
Status replace_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode);

// A sealed memfd with these bytes: no one can change it any more.
Result<Fd> sealed_memfd(std::string_view name, std::string_view bytes);
// The same with all that is left to read of `fd`, piece by piece: what is copied is never in this process's memory
// whole. At most `bytes_max`, as for read_all(); `what` names the source.
Result<Fd> sealed_copy(std::string_view name, int fd, std::size_t bytes_max, std::string_view what);

}  // namespace berth::os

#endif  // BERTH_CORE_OS_FD_H_
