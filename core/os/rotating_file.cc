#include "core/os/rotating_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace berth::os {

Status RotatingFile::open() {
  // A link in its place would have the log written elsewhere.
  BERTH_TRY(file_, open_file(path_, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat info {};
  if (::fstat(file_.get(), &info) == 0 && S_ISREG(info.st_mode)) return {};
  file_.reset();
  return fail(ErrorKind::kIo, fmt::format("{} is not a regular file, so no log is written there",
                                          path_.string()));
}

Status RotatingFile::append(std::string_view line) {
  std::string text(line.substr(0, static_cast<std::size_t>(bytes_max_ - 1)));
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  text.push_back('\n');
  // Another process may have moved the file away since the last line.
  struct stat here {};
  struct stat there {};
  const bool same = file_.valid() && ::fstat(file_.get(), &here) == 0 &&
                    ::lstat(path_.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
                    here.st_ino == there.st_ino;
  if (!same) {
    BERTH_CHECK_OK(open());
    ::fstat(file_.get(), &here);
  }
  const auto size = static_cast<std::uint64_t>(here.st_size);
  if (size > 0 && size + text.size() > bytes_max_) {
    if (::rename(path_.c_str(), (path_.string() + ".1").c_str()) != 0)
      return fail(os_error(errno, fmt::format("cannot rotate {}", path_.string())));
    BERTH_CHECK_OK(open());
  }
  return write_all(file_.get(), text);
}

}  // namespace berth::os
