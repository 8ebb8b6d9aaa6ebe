#include "core/host/state_dir.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace berth {

Status prepare_state_dir(const std::filesystem::path& dir, std::string_view option) {
  std::error_code error;
  const std::string name = dir.string();
  if (dir.has_parent_path()) std::filesystem::create_directories(dir.parent_path(), error);
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(os_error(errno, fmt::format("cannot make the state folder '{}'", name)));
  }
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) {
    return fail(os_error(errno, fmt::format("cannot look at the state folder '{}'", name)));
  }
  if (!S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::kIo, fmt::format("the state folder '{}' is not a folder", name));
  }
  if (info.st_uid != geteuid()) {
    return fail(ErrorKind::kRefused,
                fmt::format("the state folder '{}' belongs to uid {}, not to uid {}; choose "
                            "another{}{}",
                            name, info.st_uid, geteuid(), option.empty() ? "" : " with ", option));
  }
  if ((info.st_mode & 022) != 0) {
    return fail(ErrorKind::kRefused,
                fmt::format("the state folder '{}' can be written by others (mode {:o}); chmod 700 it",
                            name, info.st_mode & 07777));
  }
  if (access(dir.c_str(), R_OK | W_OK | X_OK) != 0) {
    return fail(os_error(errno, fmt::format("cannot write the state folder '{}'", name)));
  }
  return {};
}

}  // namespace berth
