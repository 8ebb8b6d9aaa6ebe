#include "core/os/folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace berth::os {

Status make_private_folders(const std::filesystem::path& path) {
  std::filesystem::path at;
  for (const std::filesystem::path& part : path) {
    at /= part;
    if (::mkdir(at.c_str(), 0700) == 0) continue;
    const int why = errno;
    std::error_code error;
    if (std::filesystem::is_directory(at, error)) continue;
    return fail(os_error(why == EEXIST ? ENOTDIR : why,
                         fmt::format("cannot make the folder '{}'", at.string())));
  }
  return {};
}

Status check_no_dangling_link(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)) ||
      std::filesystem::exists(path, error))
    return {};
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  return fail(ErrorKind::kIo, fmt::format("'{}' is a link to '{}', which is not there; mend or remove it",
                                          path.string(), target.string()));
}

}  // namespace berth::os
