#include "plugins/reference/boxes.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "berth/outcome.hpp"

namespace berth::reference {
namespace {

namespace fs = std::filesystem;

Failure system_failure(const std::string& what) {
  return Failure::failed_clean(Code::kUnavailable, "reference: " + what + ": " + std::strerror(errno));
}

// Opens below `root`, as if `root` were "/": no link leads out of it. [FILE-002]
Fd open_inside(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

Fd open_folder(const std::string& path) {
  return Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// Every folder above `path`, below `root`. [FILE-003]
void make_parents(int root, const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (open_inside(root, parent, O_PATH | O_DIRECTORY).valid()) continue;
    const std::size_t last = parent.rfind('/');
    const std::string above = last == 0 || last == std::string::npos ? "/" : parent.substr(0, last);
    const Fd folder = open_inside(root, above, O_PATH | O_DIRECTORY);
    if (!folder.valid() ||
        (::mkdirat(folder.get(), parent.substr(last + 1).c_str(), 0755) != 0 && errno != EEXIST))
      throw system_failure("cannot make the folder " + parent);
  }
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) throw system_failure("cannot write a file");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (raw_ >= 0) ::close(raw_);
    raw_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (raw_ >= 0) ::close(raw_);
}

int Fd::release() { return std::exchange(raw_, -1); }

void Boxes::require_keepable(const Limits& limits) {
  if (limits.cpu_millis != 0 || limits.memory_bytes != 0 || limits.disk_bytes != 0 ||
      limits.processes != 0)
    throw Failure::rejected(Code::kUnsupported,
                            "reference: limits of cpus, memory, disk and processes cannot be kept for a "
                            "plain process; ask for cpu time, file size or open files");
}

void Boxes::require_none(const Limits& limits) {
  require_keepable(limits);
  if (limits.cpu_time.count() != 0 || limits.file_size_bytes != 0 || limits.open_files != 0)
    throw Failure::rejected(Code::kUnsupported,
                            "reference: a sandbox has no limits of its own; give them to each command");
}

void Boxes::make(const std::string& sandbox, const CreateSpec& spec) {
  std::error_code error;
  fs::create_directories(work_folder(sandbox), error);
  if (error) throw Failure::failed_dirty(Code::kUnavailable, "reference: " + error.message());
  std::ofstream env(box(sandbox) + "/env", std::ios::binary);
  for (const PairView& pair : spec.env) env << pair.key << '=' << pair.value << '\0';
  const Fd alive(::open((box(sandbox) + "/alive").c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
  if (!alive.valid() || (::mkfifo((box(sandbox) + "/stop").c_str(), 0600) != 0 && errno != EEXIST))
    throw Failure::failed_dirty(Code::kUnavailable, "reference: the sandbox's folder cannot be made");
}

std::string Boxes::relative(const std::string& sandbox, const std::string& path) const {
  const std::string inside = root(sandbox);
  return path.starts_with(inside + "/") ? path.substr(inside.size()) : path;
}

void Boxes::put(const std::string& sandbox, const std::string& path, File file) {
  const Fd folder = open_folder(root(sandbox));
  if (!folder.valid()) throw system_failure("the sandbox has no folder");
  const std::string inside = relative(sandbox, path);
  make_parents(folder.get(), inside);
  const std::size_t slash = inside.rfind('/');
  const Fd parent =
      open_inside(folder.get(), slash == 0 ? "/" : inside.substr(0, slash), O_PATH | O_DIRECTORY);
  if (!parent.valid()) throw system_failure("cannot open the folder of " + path);
  const std::string name = inside.substr(slash + 1);
  const std::string part = "." + name.substr(0, 200) + ".part";
  // Whole or not at all: beside it, then in its place. [FILE-001]
  const Fd out(::openat(parent.get(), part.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out.valid()) throw system_failure("cannot make the file " + path);
  try {
    write_all(out.get(), file.bytes);
    if (::fchmod(out.get(), file.mode) != 0 ||
        ::renameat(parent.get(), part.c_str(), parent.get(), name.c_str()) != 0)
      throw system_failure("cannot put the file " + path);
  } catch (...) {
    ::unlinkat(parent.get(), part.c_str(), 0);
    throw;
  }
}

File Boxes::get(const std::string& sandbox, const std::string& path, std::uint64_t bytes_max) {
  const Fd folder = open_folder(root(sandbox));
  const Fd file = open_inside(folder.get(), relative(sandbox, path), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    throw Failure::rejected(Code::kNotFound, "reference: there is no regular file " + path);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > bytes_max || size > kFileBytesMax)
    throw Failure::rejected(Code::kQuota, "reference: " + path + " has " + std::to_string(size) +
                                              " bytes, more than the " +
                                              std::to_string(std::min(bytes_max, kFileBytesMax)) +
                                              " asked for");
  File out;
  out.mode = info.st_mode & 07777u;
  out.bytes.resize(size);
  std::size_t at = 0;
  for (ssize_t got; at < size && (got = ::read(file.get(), out.bytes.data() + at, size - at)) > 0;)
    at += static_cast<std::size_t>(got);
  out.bytes.resize(at);
  return out;
}

std::vector<std::string> Boxes::environment(const std::string& sandbox) const {
  std::vector<std::string> out;
  std::ifstream file(box(sandbox) + "/env", std::ios::binary);
  for (std::string one; std::getline(file, one, '\0');) out.push_back(one);
  return out;
}

Fd Boxes::hold_alive(const std::string& sandbox) const {
  Fd alive(::open((box(sandbox) + "/alive").c_str(), O_RDONLY | O_CLOEXEC));
  if (!alive.valid() || ::flock(alive.get(), LOCK_SH | LOCK_NB) != 0)
    throw Failure::rejected(Code::kNotFound, "reference: the sandbox is ending or gone");
  return alive;
}

Fd Boxes::open_stop(const std::string& sandbox) const {
  return Fd(::open((box(sandbox) + "/stop").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

bool Boxes::stop(const std::string& sandbox) const {
  const Fd alive(::open((box(sandbox) + "/alive").c_str(), O_RDONLY | O_CLOEXEC));
  if (!alive.valid() || ::flock(alive.get(), LOCK_EX | LOCK_NB) == 0) return true;
  // Kept open by whoever runs, so the byte stays readable for all of them.
  const Fd stop = open_stop(sandbox);
  const char byte = 's';
  if (stop.valid() && ::write(stop.get(), &byte, 1) < 0 && errno != EAGAIN) return false;
  return false;
}

void Boxes::remove(const std::string& sandbox) const {
  std::error_code ignored;
  fs::remove_all(box(sandbox), ignored);
}

void Boxes::drop(const std::string& sandbox) {
  stop(sandbox);
  remove(sandbox);
}

}  // namespace berth::reference
