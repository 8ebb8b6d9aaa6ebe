#include "plugins/http/ended_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "plugins/http/secret.h"

namespace berth::http {

namespace fs = std::filesystem;

EndedNames::EndedNames(std::string_view state_dir) {
  if (state_dir.empty()) return;
  folder_ = std::string(state_dir) + "/ended";
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms::owner_all);
  const auto oldest = fs::file_time_type::clock::now() - std::chrono::hours(24 * 7);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    if (entry.last_write_time(ignored) < oldest) fs::remove(entry.path(), ignored);
}

// A name is the host's, but a path is made of its digest all the same.
std::string EndedNames::path(std::string_view name) const {
  return folder_ + "/" + http::sha256_hex(name);
}

void EndedNames::add(std::string_view name) {
  if (folder_.empty()) {
    names_.emplace(name);
    return;
  }
  const int fd = ::open(path(name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "remembering an ended name");
  ::close(fd);
}

bool EndedNames::has(std::string_view name) const {
  if (folder_.empty()) return names_.contains(name);
  return ::access(path(name).c_str(), F_OK) == 0;
}

}  // namespace berth::http
