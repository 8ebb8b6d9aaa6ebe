#include "helper/file_move.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace berth::local {
namespace {

constexpr std::size_t kPieceBytes = 65536;
// After so many the init looks at what else there is to do.
constexpr int kPiecesAtOnce = 16;

char piece[kPieceBytes];

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

void close_if_open(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

}  // namespace

short FileMove::events() const { return into_ ? POLLIN : POLLOUT; }

bool FileMove::take(int pipe) {
  report_ = ChildReport{};
  at_ = 0;
  umask(022);
  pipe_ = fcntl(pipe, F_DUPFD_CLOEXEC, 0);
  return pipe_ >= 0 && fcntl(pipe_, F_SETFL, O_NONBLOCK) == 0;
}

bool FileMove::begin_put(const PutRequest& request, int pipe) {
  into_ = true;
  left_ = request.size_bytes;
  report_ = ChildReport{};
  if (!take(pipe)) return end(Step::kTransfer, errno);
  report_.mode = request.mode & 07777u;
  report_.size_bytes = request.size_bytes;
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return end(Step::kOpen, errno);
  char path[sizeof(request.path)];
  std::memcpy(path, request.path, sizeof(path));
  const char* name = nullptr;
  folder_ = open_parent(root, path, &name);
  const int error = errno;
  close(root);
  if (folder_ < 0) return end(Step::kOpen, error);
  std::memcpy(name_, name, std::strlen(name) + 1);
  // Written beside its name and renamed, so that there is never a part of a file.
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) return end(Step::kOpen, errno);
  std::snprintf(beside_, sizeof(beside_), ".berth-put-%016llx", static_cast<unsigned long long>(number));
  file_ = openat(folder_, beside_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file_ < 0) return end(Step::kOpen, errno);
  return step();
}

bool FileMove::begin_get(const GetRequest& request, int pipe) {
  into_ = false;
  report_ = ChildReport{};
  if (!take(pipe)) return end(Step::kTransfer, errno);
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return end(Step::kOpen, errno);
  // Non-blocking, so that a pipe in the way of the name is refused and not waited for.
  file_ = open_beneath(root, request.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
  const int error = errno;
  close(root);
  if (file_ < 0) return end(error == ELOOP ? Step::kNotRegular : Step::kOpen, error);
  struct stat info{};
  if (fstat(file_, &info) != 0) return end(Step::kOpen, errno);
  if (!S_ISREG(info.st_mode)) return end(Step::kNotRegular, EINVAL);
  left_ = static_cast<std::uint64_t>(info.st_size);
  if (left_ > request.max_bytes) return end(Step::kTooLarge, EFBIG);
  report_.mode = info.st_mode & 07777u;
  report_.size_bytes = left_;
  return step();
}

bool FileMove::step() { return into_ ? step_put() : step_get(); }

// Exactly as many bytes as were announced, and the end after them.
bool FileMove::step_put() {
  for (int i = 0; i < kPiecesAtOnce; ++i) {
    const std::size_t wanted = left_ == 0 ? 1 : left_ < kPieceBytes ? left_ : kPieceBytes;
    const ssize_t got = read(pipe_, piece, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got < 0) return end(Step::kTransfer, errno);
    if (got == 0 && left_ > 0) return end(Step::kTransfer, ENODATA);
    if (got == 0) return commit(), false;
    if (left_ == 0) return end(Step::kTransfer, EMSGSIZE);
    if (!write_all(file_, piece, static_cast<std::size_t>(got))) return end(Step::kTransfer, errno);
    left_ -= static_cast<std::uint64_t>(got);
  }
  return true;
}

void FileMove::commit() {
  if (fchmod(file_, report_.mode) != 0) {
    end(Step::kTransfer, errno);
  } else if (renameat(folder_, beside_, folder_, name_) != 0) {
    end(Step::kCommit, errno);
  } else {
    end(Step::kNone, 0);
  }
}

bool FileMove::step_get() {
  for (int i = 0; i < kPiecesAtOnce; ++i) {
    const std::size_t wanted = left_ == 0 ? 1 : left_ < kPieceBytes ? left_ : kPieceBytes;
    const ssize_t got = pread(file_, piece, wanted, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return end(Step::kTransfer, errno);
    if (got == 0) return left_ == 0 ? end(Step::kNone, 0) : end(Step::kTransfer, ENODATA);
    if (left_ == 0) return end(Step::kTransfer, EMSGSIZE);
    const ssize_t written = write(pipe_, piece, static_cast<std::size_t>(got));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return true;
    if (written < 0) return end(Step::kTransfer, errno);
    at_ += static_cast<std::uint64_t>(written);
    left_ -= static_cast<std::uint64_t>(written);
  }
  return true;
}

void FileMove::abort(int error) { end(Step::kTransfer, error); }

bool FileMove::end(Step step, int error) {
  if (into_ && file_ >= 0 && step != Step::kNone) unlinkat(folder_, beside_, 0);
  close_if_open(&pipe_);
  close_if_open(&file_);
  close_if_open(&folder_);
  if (step != Step::kNone) report_ = ChildReport{step, error, 0, 0, 0};
  return false;
}

}  // namespace berth::local
