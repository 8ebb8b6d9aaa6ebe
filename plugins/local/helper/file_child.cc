#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "helper/command_child.h"

namespace berth::local {
namespace {

constexpr std::size_t kPieceBytes = 65536;

[[noreturn]] void finish(int report, const ChildReport& text) {
  // A pipe with room: the write is whole or the init is gone.
  [[maybe_unused]] const ssize_t written = write(report, &text, sizeof(text));
  _exit(text.step == Step::kNone ? 0 : 1);
}

// The root of the sandbox is the bound, and /proc's links into other processes are not followed.
int open_beneath(int folder, const char* path, std::uint64_t flags, std::uint64_t mode) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, path, &how, sizeof(how)));
}

int open_folder(int root, const char* path) {
  return open_beneath(root, path[0] == '\0' ? "/" : path, O_DIRECTORY | O_PATH, 0);
}

// Makes the last folder of `path` in the one above it, unless something is there.
void make_folder(int root, char* path) {
  char* const slash = std::strrchr(path, '/');
  *slash = '\0';
  const int above = open_folder(root, path);
  if (above >= 0) {
    mkdirat(above, slash + 1, 0755);
    close(above);
  }
  *slash = '/';
}

// Opens the folder a file goes into, making what is missing. `path` is cut at its last slash.
int open_parent(int root, char* path, const char** name) {
  char* slash = std::strrchr(path, '/');
  if (path[0] != '/' || slash[1] == '\0') {
    errno = EINVAL;
    return -1;
  }
  *name = slash + 1;
  *slash = '\0';
  for (char* at = path; (at = std::strchr(at + 1, '/')) != nullptr;) {
    *at = '\0';
    make_folder(root, path);
    *at = '/';
  }
  if (path[0] != '\0') make_folder(root, path);
  return open_folder(root, path);
}

bool write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

// Moves exactly `size` bytes and demands the end after them. 0, or an errno.
int copy_exactly(int from, int to, std::uint64_t size) {
  static char piece[kPieceBytes];
  std::uint64_t left = size;
  while (true) {
    const std::size_t wanted = left == 0 ? 1 : left < kPieceBytes ? left : kPieceBytes;
    const ssize_t got = read(from, piece, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return left == 0 ? 0 : ENODATA;
    if (left == 0) return EMSGSIZE;
    if (!write_all(to, piece, static_cast<std::size_t>(got))) return errno;
    left -= static_cast<std::uint64_t>(got);
  }
}

void be_ordinary() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  umask(022);
}

}  // namespace

void give_up(int report, Step step, int error) { finish(report, ChildReport{step, error, 0, 0, 0}); }

void receive_file(const PutRequest& request, int from, int report) {
  be_ordinary();
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) give_up(report, Step::kOpen, errno);
  char path[sizeof(request.path)];
  std::memcpy(path, request.path, sizeof(path));
  const char* name = nullptr;
  const int folder = open_parent(root, path, &name);
  if (folder < 0) give_up(report, Step::kOpen, errno);
  // Written beside its name and renamed, so that there is never a part of a file.
  char beside[64];
  std::snprintf(beside, sizeof(beside), ".berth-put-%d", static_cast<int>(getpid()));
  const int to = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (to < 0) give_up(report, Step::kOpen, errno);
  const int error = copy_exactly(from, to, request.size_bytes);
  const bool good = error == 0 && fchmod(to, request.mode & 07777) == 0;
  const int moved_error = good ? 0 : (error != 0 ? error : errno);
  if (moved_error != 0 || renameat(folder, beside, folder, name) != 0) {
    const int reason = moved_error != 0 ? moved_error : errno;
    unlinkat(folder, beside, 0);
    give_up(report, moved_error != 0 ? Step::kTransfer : Step::kCommit, reason);
  }
  finish(report, ChildReport{Step::kNone, 0, request.mode, 0, request.size_bytes});
}

void send_file(const GetRequest& request, int to, int report) {
  be_ordinary();
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) give_up(report, Step::kOpen, errno);
  // Non-blocking, so that a pipe in the way of the name is refused and not waited for.
  const int from = open_beneath(root, request.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
  if (from < 0) give_up(report, errno == ELOOP ? Step::kNotRegular : Step::kOpen, errno);
  struct stat info{};
  if (fstat(from, &info) != 0) give_up(report, Step::kOpen, errno);
  if (!S_ISREG(info.st_mode)) give_up(report, Step::kNotRegular, EINVAL);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > request.max_bytes) give_up(report, Step::kTooLarge, EFBIG);
  const int error = copy_exactly(from, to, size);
  if (error != 0) give_up(report, Step::kTransfer, error);
  finish(report, ChildReport{Step::kNone, 0, info.st_mode & 07777u, 0, size});
}

}  // namespace berth::local
