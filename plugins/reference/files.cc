#include "plugins/reference/files.h"

#include <utility>

#include "berth/outcome.hpp"

namespace berth::reference {

void FilesInMemory::put(const std::string& sandbox, const std::string& path, File file) {
  const std::lock_guard lock(mutex_);
  files_[sandbox][path] = std::move(file);
}

File FilesInMemory::get(const std::string& sandbox, const std::string& path, std::uint64_t bytes_max) {
  const std::lock_guard lock(mutex_);
  const auto owner = files_.find(sandbox);
  if (owner == files_.end() || !owner->second.contains(path))
    throw Failure::rejected(Code::kNotFound, "reference: there is no file " + path);
  const File& file = owner->second.at(path);
  if (file.bytes.size() > bytes_max)
    throw Failure::rejected(
        Code::kQuota, "reference: " + path + " has " + std::to_string(file.bytes.size()) +
                          " bytes, more than the " + std::to_string(bytes_max) + " asked for");
  return file;
}

void FilesInMemory::drop(const std::string& sandbox) {
  const std::lock_guard lock(mutex_);
  files_.erase(sandbox);
}

}  // namespace berth::reference
