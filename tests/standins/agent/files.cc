#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/standins/agent/agent.h"

namespace berth::standins::agent {
namespace {

using wire::Kind;

void pack_entry(wire::Packer* packer, std::string_view name, const struct stat& info) {
  packer->str(name)
      .u64(static_cast<std::uint64_t>(info.st_size))
      .u32(info.st_mode)
      .u64(static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1000 +
           static_cast<std::uint64_t>(info.st_mtim.tv_nsec) / 1000000)
      .u32(info.st_uid);
}

int read_file(std::uint32_t id, const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  struct stat info{};
  int error = fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (error == 0 && !S_ISREG(info.st_mode)) error = EINVAL;
  char piece[wire::kPieceBytes];
  while (error == 0) {
    const ssize_t count = read(fd, piece, sizeof(piece));
    if (count == 0) break;
    if (count < 0) {
      error = errno;
      break;
    }
    send(Kind::kData, id, std::string_view(piece, static_cast<std::size_t>(count)));
  }
  close(fd);
  return error;
}

int make_folder(const std::string& path, std::uint32_t mode) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (mkdir(path.substr(0, slash).c_str(), 0755) != 0 && errno != EEXIST && errno != EROFS) return errno;
  }
  if (mkdir(path.c_str(), mode) == 0) return 0;
  struct stat info{};
  const int error = errno;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) ? 0 : error;
}

int remove_path(const std::string& path, bool recursive) {
  if (unlink(path.c_str()) == 0) return 0;
  if (errno != EISDIR) return errno;
  if (rmdir(path.c_str()) == 0) return 0;
  if (errno != ENOTEMPTY || !recursive) return errno;
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return errno;
  int error = 0;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (const int one = remove_path(path + "/" + std::string(name), true); one != 0) error = one;
  }
  closedir(folder);
  return error != 0 ? error : rmdir(path.c_str()) == 0 ? 0 : errno;
}

int list_folder(std::uint32_t id, const std::string& path) {
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return errno;
  wire::Packer entries;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    struct stat info{};
    if (name == "." || name == ".." || lstat((path + "/" + entry->d_name).c_str(), &info) != 0) continue;
    pack_entry(&entries, name, info);
  }
  closedir(folder);
  send(Kind::kData, id, entries.text());
  return 0;
}

int stat_file(std::uint32_t id, const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return errno;
  wire::Packer entry;
  pack_entry(&entry, path.substr(path.rfind('/') + 1), info);
  send(Kind::kData, id, entry.text());
  return 0;
}

}  // namespace

bool Files::take(Kind kind, std::uint32_t id, std::string_view payload) {
  wire::Unpacker unpacker(payload);
  switch (kind) {
    case Kind::kReadFile: send_done(id, read_file(id, std::string(unpacker.str()))); return true;
    case Kind::kStat: send_done(id, stat_file(id, std::string(unpacker.str()))); return true;
    case Kind::kList: send_done(id, list_folder(id, std::string(unpacker.str()))); return true;
    case Kind::kMakeFolder: {
      const std::uint32_t mode = unpacker.u32();
      send_done(id, make_folder(std::string(unpacker.str()), mode));
      return true;
    }
    case Kind::kRemove: {
      const bool recursive = unpacker.u8() != 0;
      send_done(id, remove_path(std::string(unpacker.str()), recursive));
      return true;
    }
    case Kind::kRename: {
      const std::string from(unpacker.str());
      const std::string to(unpacker.str());
      send_done(id, rename(from.c_str(), to.c_str()) == 0 ? 0 : errno);
      return true;
    }
    case Kind::kSetMode: {
      const std::uint32_t mode = unpacker.u32();
      send_done(id, chmod(std::string(unpacker.str()).c_str(), mode) == 0 ? 0 : errno);
      return true;
    }
    case Kind::kWriteFile: {
      const std::uint32_t mode = unpacker.u32();
      begin_write(id, mode, unpacker.str());
      return true;
    }
    default: return false;
  }
}

void Files::begin_write(std::uint32_t id, std::uint32_t mode, std::string_view path) {
  Writing& one = writing_[id];
  one.path = path;
  one.mode = mode;
  // Whole or not at all: what is half written has another name.
  one.temporary = one.path + ".part-" + std::to_string(id);
  if (const std::size_t slash = one.path.rfind('/'); slash != 0 && slash != std::string::npos) {
    one.error = make_folder(one.path.substr(0, slash), 0755);
  }
  if (one.error != 0) return;
  one.fd = open(one.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (one.fd < 0) one.error = errno;
}

bool Files::input(std::uint32_t id, std::string_view bytes) {
  const auto found = writing_.find(id);
  if (found == writing_.end()) return false;
  Writing& one = found->second;
  if (!bytes.empty()) {
    while (one.error == 0 && !bytes.empty()) {
      const ssize_t count = write(one.fd, bytes.data(), bytes.size());
      if (count < 0) {
        one.error = errno;
        break;
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  if (one.fd >= 0) {
    if (one.error == 0 && fchmod(one.fd, one.mode) != 0) one.error = errno;
    close(one.fd);
    struct stat info{};
    if (one.error == 0 && stat(one.path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) one.error = EISDIR;
    if (one.error == 0 && rename(one.temporary.c_str(), one.path.c_str()) != 0) one.error = errno;
    if (one.error != 0) unlink(one.temporary.c_str());
  }
  send_done(id, one.error);
  writing_.erase(found);
  return true;
}

}  // namespace berth::standins::agent
