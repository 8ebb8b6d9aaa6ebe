#include "tools/berth/configuration_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/os/fd.h"
#include "core/os/folder.h"

namespace berth::cli {

Result<std::string> read_configuration_file(const std::filesystem::path& path,
                                            std::size_t bytes_max, const std::string& context) {
  BERTH_CHECK_OK(os::check_no_dangling_link(path));
  auto file = os::open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file) return fail(file.error().with("cannot read " + context));
  struct stat info {};
  if (fstat(file->get(), &info) != 0) return fail(os_error(errno, context));
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorKind::kInvalidArgument, fmt::format("{} is not a regular file", context));
  }
  if ((info.st_mode & S_IWOTH) != 0) {
    return fail(ErrorKind::kRefused,
                fmt::format("{} can be written by everyone; chmod o-w it", context));
  }
  return os::read_all(file->get(), bytes_max, context);
}

}  // namespace berth::cli
