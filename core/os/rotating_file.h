// RotatingFile: a log on disk that cannot grow without end.
#ifndef BERTH_CORE_OS_ROTATING_FILE_H_
#define BERTH_CORE_OS_ROTATING_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/base/result.h"
#include "core/os/fd.h"

namespace berth::os {

// Appends lines to a file of mode 0600. A line that would take it beyond its bound first moves the
// file to `<path>.1`, over the one that was there: on disk are at most two files of that size.
// Several processes may append to one path; whole lines stay whole. Not thread-safe.
class RotatingFile {
 public:
  // `bytes_max` is not zero.
  RotatingFile(std::filesystem::path path, std::uint64_t bytes_max)
      : path_(std::move(path)), bytes_max_(bytes_max) {}

  const std::filesystem::path& path() const { return path_; }

  // One line, without its end; characters that would break it into several become spaces.
  Status append(std::string_view line);

 private:
  Status open();

  std::filesystem::path path_;
  std::uint64_t bytes_max_;
  Fd file_;
};

}  // namespace berth::os

#endif  // BERTH_CORE_OS_ROTATING_FILE_H_
