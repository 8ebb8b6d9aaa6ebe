#include "core/os/local_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::os {
namespace {

constexpr int kLockTriesMax = 16;  // each time somebody gave the lock back at that moment
constexpr int kBacklog = 64;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(ErrorKind::kInvalidArgument, fmt::format("'{}' is too long for a socket", path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<Fd> local_socket(int flags) {
  Fd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!made.valid()) return fail(os_error(errno, "cannot make a socket"));
  return made;
}

Status check_own(const struct stat& info, const std::filesystem::path& path, mode_t forbidden) {
  if (info.st_uid != ::geteuid())
    return fail(ErrorKind::kRefused, fmt::format("'{}' belongs to uid {}, not to uid {}", path.string(),
                                                 info.st_uid, ::geteuid()));
  if ((info.st_mode & forbidden) != 0)
    return fail(ErrorKind::kRefused, fmt::format("others can use '{}' (mode {:o})", path.string(),
                                                 info.st_mode & 07777));
  return {};
}

}  // namespace

Result<PrivateFolder> PrivateFolder::open(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(os_error(errno, fmt::format("cannot make '{}'", path.string())));
  return take(path);
}

Result<PrivateFolder> PrivateFolder::find(const std::filesystem::path& path) { return take(path); }

Result<PrivateFolder> PrivateFolder::take(const std::filesystem::path& path) {
  struct stat info {};
  const std::filesystem::path above = path.parent_path();
  if (::stat(above.c_str(), &info) != 0)
    return fail(os_error(errno, fmt::format("cannot look at '{}'", above.string())));
  BERTH_CHECK_OK(check_own(info, above, 022));
  BERTH_TRY(Fd folder, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::fstat(folder.get(), &info) != 0)
    return fail(os_error(errno, fmt::format("cannot look at '{}'", path.string())));
  BERTH_CHECK_OK(check_own(info, path, 077));
  return PrivateFolder(path, std::move(folder));
}

std::string PrivateFolder::reach(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", folder_.get(), name);
}

Result<Fd> PrivateFolder::listen(const std::string& name) const {
  BERTH_TRY(Fd socket, local_socket(SOCK_NONBLOCK));
  BERTH_TRY(const sockaddr_un address, address_of(reach(name)));
  // The mode that the name will have.
  if (::fchmod(socket.get(), 0600) != 0) return fail(os_error(errno, "cannot make a socket private"));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    const std::string what = fmt::format("cannot make '{}'", (path_ / name).string());
    if (error == EADDRINUSE) return fail(ErrorKind::kConflict, what + ": the name is taken");
    return fail(os_error(error, what));
  }
  if (::listen(socket.get(), kBacklog) != 0) return fail(os_error(errno, "cannot listen"));
  return socket;
}

Result<Fd> PrivateFolder::connect(const std::string& name) const {
  // Non-blocking: one whose queue is full is as good as none.
  BERTH_TRY(Fd socket, local_socket(SOCK_NONBLOCK));
  BERTH_TRY(const sockaddr_un address, address_of(reach(name)));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    const std::string what = fmt::format("cannot connect to '{}'", (path_ / name).string());
    if (error == ENOENT || error == ECONNREFUSED)
      return fail(ErrorKind::kNotFound, what + ": nobody listens there");
    return fail(os_error(error, what));
  }
  BERTH_CHECK_OK(check_peer(socket.get()));
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    return fail(os_error(errno, "cannot set a socket up"));
  return socket;
}

Result<std::optional<Fd>> PrivateFolder::try_lock(const std::string& name) const {
  for (int tries = 0; tries < kLockTriesMax; ++tries) {
    const int raw = ::openat(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (raw < 0) return fail(os_error(errno, fmt::format("cannot open '{}'", (path_ / name).string())));
    Fd file(raw);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::optional<Fd>();
      return fail(os_error(errno, fmt::format("cannot lock '{}'", (path_ / name).string())));
    }
    // Not one that was given back, and its name with it, between the opening and the locking.
    if (names(name, file)) return std::optional<Fd>(std::move(file));
  }
  return std::optional<Fd>();
}

bool PrivateFolder::names(const std::string& name, const Fd& file) const {
  struct stat held {};
  struct stat named {};
  return ::fstat(file.get(), &held) == 0 &&
         ::fstatat(folder_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

void PrivateFolder::give_back(const std::string& name, Fd lock) const {
  if (lock.valid() && names(name, lock)) remove(name);
}

void PrivateFolder::remove(const std::string& name) const { ::unlinkat(folder_.get(), name.c_str(), 0); }

Status check_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return fail(os_error(errno, "cannot tell whose process is at the other end"));
  if (peer.uid != ::geteuid())
    return fail(ErrorKind::kRefused, fmt::format("the process at the other end is uid {}'s, not uid {}'s",
                                                 peer.uid, ::geteuid()));
  return {};
}

}  // namespace berth::os
