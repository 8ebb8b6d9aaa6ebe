#include "core/store/host_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/ids.h"

namespace berth {
namespace {

constexpr unsigned kPrivateFile = 0600;
constexpr int kTriesMax = 16;
constexpr std::size_t kSmallFileBytesMax = 256;
constexpr std::string_view kEnding = ".lock";

std::string without_newline(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// The state folder's own identity; whoever comes first makes it, whole or not at all.
Result<std::string> host_id(const std::filesystem::path& state_dir) {
  const std::filesystem::path file = state_dir / "host-id";
  auto found = os::read_file(file, kSmallFileBytesMax);
  if (!found && found.error().kind() == ErrorKind::kNotFound) {
    const std::filesystem::path draft = state_dir / fmt::format("host-id.{}", random_hex(8));
    BERTH_CHECK_OK(
        os::replace_file(draft, fmt::format("host-{}\n", random_hex(8)), kPrivateFile));
    // Fails when another process was first, whose answer is then as good.
    const int linked = ::link(draft.c_str(), file.c_str());
    const int failure = linked == 0 ? 0 : errno;
    ::unlink(draft.c_str());
    if (failure != 0 && failure != EEXIST) {
      return fail(os_error(failure, fmt::format("cannot make '{}'", file.string())));
    }
    found = os::read_file(file, kSmallFileBytesMax);
  }
  if (!found) return fail(found.error().with("cannot tell which host this is"));
  std::string id = without_newline(std::move(*found));
  if (!id.starts_with("host-") || id.size() > 64) {
    return fail(ErrorKind::kCorrupt,
                fmt::format("'{}' does not hold a host id; restore it, since sandboxes are tagged "
                            "with it",
                            file.string()));
  }
  return id;
}

std::string boot_id() {
  const auto text = os::read_file("/proc/sys/kernel/random/boot_id", kSmallFileBytesMax);
  return text ? without_newline(*text) : "unknown";
}

bool try_lock(const os::Fd& file) { return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

// False when someone has removed the file between our opening and our locking it.
bool still_there(const os::Fd& file) {
  struct stat info {};
  return ::fstat(file.get(), &info) == 0 && info.st_nlink > 0;
}

}  // namespace

Result<std::unique_ptr<HostLock>> HostLock::acquire(const std::filesystem::path& state_dir) {
  Holder holder;
  holder.boot_id = boot_id();
  BERTH_TRY(holder.host_id, host_id(state_dir));
  const std::filesystem::path folder = state_dir / "hosts";
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(os_error(errno, fmt::format("cannot make '{}'", folder.string())));
  }
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const std::filesystem::path path =
        folder / fmt::format("{}-{}{}", ::getpid(), random_hex(8), kEnding);
    BERTH_TRY(os::Fd file, os::open_file(path, O_RDWR | O_CREAT | O_EXCL, kPrivateFile));
    // Another process may take a new file for that of a dead one, before it is locked.
    if (!try_lock(file) || !still_there(file)) continue;
    holder.lock_path = path.string();
    std::unique_ptr<HostLock> lock(new HostLock(folder, std::move(holder), std::move(file)));
    lock->remove_dead_files();
    return lock;
  }
  return fail(ErrorKind::kIo, fmt::format("cannot lock a file in '{}'", folder.string()));
}

HostLock::HostLock(std::filesystem::path folder, Holder holder, os::Fd lock)
    : folder_(std::move(folder)),
      holder_(std::move(holder)),
      lock_(std::move(lock)),
      words_(folder_) {}

HostLock::~HostLock() { ::unlink(holder_.lock_path.c_str()); }

bool HostLock::is_dead(const Holder& holder) {
  if (holder.lock_path.empty() || holder == holder_) return false;
  const std::filesystem::path path =
      folder_ / std::filesystem::path(holder.lock_path).filename();
  auto file = os::open_file(path, O_RDWR);
  // Its name is never used again: a file that is gone was given up, or taken from a dead process.
  if (!file) return file.error().kind() == ErrorKind::kNotFound;
  if (!try_lock(*file)) return false;
  ::unlink(path.c_str());  // while it is locked, so that nobody takes it for a living one
  return true;
}

std::string HostLock::describe(const Holder& holder) const {
  const std::string file = std::filesystem::path(holder.lock_path).filename();
  const std::string number = file.substr(0, file.find('-'));
  const bool is_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return HolderProbe::describe(holder);
  return fmt::format("process {} of {}", number,
                     holder.boot_id == holder_.boot_id ? "this machine" : "an earlier start of this machine");
}

void HostLock::leave_word(std::string_view intent_name, std::string_view word) {
  words_.leave(intent_name, word);
}

std::optional<std::string> HostLock::left_word(std::string_view intent_name) const {
  return words_.of(intent_name);
}

std::vector<std::string> HostLock::intents_with_words() const { return words_.names(); }

void HostLock::drop_word(std::string_view intent_name) { words_.drop(intent_name); }

void HostLock::remove_dead_files() {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::filesystem::path& path = at->path();
    if (path.extension() != kEnding || path == std::filesystem::path(holder_.lock_path)) continue;
    Holder other;
    other.lock_path = path.string();
    is_dead(other);
  }
}

}  // namespace berth
