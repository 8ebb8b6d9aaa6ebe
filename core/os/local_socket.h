// Sockets and locks in a private folder: how processes of one user find each other, and nobody else.
#ifndef BERTH_CORE_OS_LOCAL_SOCKET_H_
#define BERTH_CORE_OS_LOCAL_SOCKET_H_

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/os/fd.h"

namespace berth::os {

// A folder that is this user's alone: mode 0700, no link, below a folder that no other user can change
// either. Everything is reached through its descriptor, so that nobody can exchange it afterwards, and
// a path may be longer than the address of a socket. Movable; not shared between threads.
class PrivateFolder {
 public:
  // Makes it where it is missing. Refuses (kRefused) one that another user owns or can change.
  static Result<PrivateFolder> open(const std::filesystem::path& path);
  // The same, but one that is missing is kNotFound.
  static Result<PrivateFolder> find(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  // Listens, non-blocking, at a socket of mode 0600. kConflict when the name is taken.
  Result<Fd> listen(const std::string& name) const;
  // Connects to one. kNotFound when nobody listens there; kRefused when the other side is another
  // user's.
  Result<Fd> connect(const std::string& name) const;
  // The lock of this name; it is held as long as any copy of the descriptor is open. Nothing when
  // somebody else has it.
  Result<std::optional<Fd>> try_lock(const std::string& name) const;
  // Gives a lock of that name back, and its file with it: before anybody else can have it.
  void give_back(const std::string& name, Fd lock) const;
  void remove(const std::string& name) const;

 private:
  PrivateFolder(std::filesystem::path path, Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  static Result<PrivateFolder> take(const std::filesystem::path& path);
  std::string reach(const std::string& name) const;
  bool names(const std::string& name, const Fd& file) const;

  std::filesystem::path path_;
  Fd folder_;
};

// Nothing when the process at the other end of a connection is this user's. [SO_PEERCRED]
Status check_peer(int socket);

}  // namespace berth::os

#endif  // BERTH_CORE_OS_LOCAL_SOCKET_H_
