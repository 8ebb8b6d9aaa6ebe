#include "state.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

#include "berth/abi.h"
#include "berth/outcome.hpp"

namespace berth::local {
namespace {

constexpr std::size_t kRecordMaxBytes = 16384;
constexpr time_t kTombstoneSeconds = 24 * 3600;
constexpr time_t kTombstoneFloorSeconds = 3600;
constexpr const char* kRecord = "record";
constexpr const char* kProcess = "process";
constexpr const char* kAlive = "alive";
constexpr const char* kDraft = "record.new";
// Names of allocations never start with a dot, so what does is in the making or in the unmaking.
constexpr const char* kTemporaryPrefix = ".";

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

std::vector<std::string> entries(const std::string& path) {
  std::vector<std::string> found;
  const Folder folder(opendir(path.c_str()), closedir);
  if (!folder) return found;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") found.emplace_back(name);
  }
  return found;
}

void make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return;
  throw Failure::rejected(Code::kInternal, "cannot make the state folder " + path + ": " +
                                               error_text(errno) + "; give the provider a folder it "
                                               "may write to");
}

// One "key value" a line; a value keeps everything after the first space but never a line break.
void add_line(std::string* text, std::string_view key, std::string_view value) {
  text->append(key).push_back(' ');
  for (const char c : value) text->push_back(c == '\n' ? ' ' : c);
  text->push_back('\n');
}

std::string to_text(const Record& record) {
  std::string text;
  add_line(&text, "name", record.name);
  add_line(&text, "owner", record.owner_tag);
  add_line(&text, "holder", record.holder);
  add_line(&text, "boot", record.boot_id);
  add_line(&text, "layers", record.layers);
  add_line(&text, "startup", record.startup);
  add_line(&text, "created", std::to_string(record.created_unix_ms));
  add_line(&text, "identity", std::to_string(record.outer_id));
  for (const std::string& folder : record.cgroup_folders) add_line(&text, "cgroup", folder);
  add_line(&text, "end", "1");
  return text;
}

std::uint64_t to_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<Record> from_text(std::string_view text) {
  Record record;
  bool whole = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view key = line.substr(0, space);
    const std::string_view value = line.substr(space + 1);
    if (key == "name") record.name = value;
    if (key == "owner") record.owner_tag = value;
    if (key == "holder") record.holder = value;
    if (key == "boot") record.boot_id = value;
    if (key == "layers") record.layers = value;
    if (key == "startup") record.startup = value;
    if (key == "created") record.created_unix_ms = to_number(value);
    if (key == "identity") record.outer_id = static_cast<std::uint32_t>(to_number(value));
    if (key == "cgroup" && record.cgroup_folders.size() < 16) {
      record.cgroup_folders.emplace_back(value);
    }
    if (key == "end") whole = true;
  }
  if (!whole) return std::nullopt;
  return record;
}

Failure cannot_record(const std::string& name) {
  return Failure::rejected(Code::kUnavailable,
                           "cannot record the sandbox " + name + ": " + error_text(errno));
}

}  // namespace

bool valid_name(std::string_view name) {
  if (name.empty() || name.size() > BERTH_NAME_MAX_BYTES || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned char byte = 0;
    if (getrandom(&byte, 1, 0) != 1) {
      throw Failure::rejected(Code::kInternal, "the kernel gives no random bytes");
    }
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

StateStore::StateStore(std::string folder)
    : folder_(std::move(folder)), allocations_(folder_ + "/allocations") {
  make_folder(folder_);
  make_folder(allocations_);
  const std::string path = folder_ + "/installation";
  constexpr std::size_t kIdBytes = 16;
  const std::string fresh = random_hex(kIdBytes);
  // Linked into place whole, so that of several processes starting at once one id wins for all.
  const std::string draft = path + "." + fresh;
  const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid() || write_fully(fd.get(), fresh) != 0) throw cannot_record("installation id");
  const bool linked = link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST;
  unlink(draft.c_str());
  const std::optional<std::string> id = linked ? read_small_file(path, 64) : std::nullopt;
  if (!id || id->size() != 2 * kIdBytes) {
    throw Failure::rejected(Code::kInternal, "the installation id in " + path + " cannot be read");
  }
  installation_id_ = *id;
}

StateStore::~StateStore() {
  {
    const std::lock_guard<std::mutex> lock(graves_mutex_);
    closing_ = true;
  }
  grave_dug_.notify_all();
  if (digger_.joinable()) digger_.join();
}

std::string StateStore::path_of(std::string_view name) const {
  return allocations_ + "/" + std::string(name);
}

std::optional<Claim> StateStore::claim(const Record& record) {
  static std::atomic<std::uint64_t> counter{0};
  const std::string draft = allocations_ + "/.new-" + std::to_string(getpid()) + "-" +
                            std::to_string(counter.fetch_add(1)) + "-" + random_hex(4);
  if (mkdir(draft.c_str(), 0700) != 0) throw cannot_record(record.name);
  Claim claim;
  const auto make = [&](const char* file) {
    return Fd(::open((draft + "/" + file).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  };
  const Fd text = make(kRecord);
  claim.process = make(kProcess);
  bool good = make(kAlive).valid() && text.valid() && claim.process.valid() &&
              write_fully(text.get(), to_text(record)) == 0;
  if (good) {
    // Read-only: the init keeps it for life and has no use for writing to the host's disk.
    claim.alive = Fd(::open((draft + "/" + kAlive).c_str(), O_RDONLY | O_CLOEXEC));
    good = claim.alive.valid() && flock(claim.alive.get(), LOCK_EX | LOCK_NB) == 0;
  }
  if (!good) {
    const Failure failure = cannot_record(record.name);
    remove_folder(draft);
    throw failure;
  }
  if (renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path_of(record.name).c_str(),
                RENAME_NOREPLACE) == 0) {
    return claim;
  }
  const int error = errno;
  remove_folder(draft);
  if (error == EEXIST) return std::nullopt;
  errno = error;
  throw cannot_record(record.name);
}

bool StateStore::rewrite(std::string_view name, const Record& record) {
  const std::string draft = path_of(name) + "/" + kDraft;
  unlink(draft.c_str());
  const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.valid() && write_fully(fd.get(), to_text(record)) == 0 &&
      ::rename(draft.c_str(), (path_of(name) + "/" + kRecord).c_str()) == 0) {
    return true;
  }
  unlink(draft.c_str());
  return false;
}

bool StateStore::rename(std::string_view from, std::string_view to) {
  if (renameat2(AT_FDCWD, path_of(from).c_str(), AT_FDCWD, path_of(to).c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno == EEXIST) return false;
  throw cannot_record(std::string(to));
}

Slot StateStore::slot(std::string_view name) const {
  struct stat info{};
  if (lstat(path_of(name).c_str(), &info) != 0) {
    if (errno == ENOENT) return Slot::kFree;
    throw Failure::uncertain(Code::kUnavailable,
                             "cannot look up " + std::string(name) + ": " + error_text(errno));
  }
  return S_ISDIR(info.st_mode) ? Slot::kAllocation : Slot::kTombstone;
}

std::optional<Record> StateStore::read(std::string_view name) const {
  const auto text = read_small_file(path_of(name) + "/" + kRecord, kRecordMaxBytes);
  return text ? from_text(*text) : std::nullopt;
}

std::optional<ProcessName> StateStore::process(std::string_view name) const {
  const auto text = read_small_file(path_of(name) + "/" + kProcess, 256);
  if (!text) return std::nullopt;
  const std::size_t space = text->find(' ');
  if (space == std::string::npos || text->back() != '\n') return std::nullopt;
  ProcessName process;
  process.pid = static_cast<pid_t>(to_number(*text));
  process.start_time = to_number(std::string_view(*text).substr(space + 1));
  if (process.pid <= 1) return std::nullopt;
  return process;
}

Liveness StateStore::liveness(std::string_view name) const {
  const Fd fd(::open((path_of(name) + "/" + kAlive).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return errno == ENOENT || errno == ENOTDIR ? Liveness::kDead : Liveness::kUnknown;
  // Shared, so that two who ask at once do not take each other for the sandbox.
  if (flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return Liveness::kDead;
  return errno == EWOULDBLOCK ? Liveness::kAlive : Liveness::kUnknown;
}

bool StateStore::fence(std::string_view name) {
  const Fd fd(::open(path_of(name).c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.valid()) return true;
  if (errno == EEXIST) return slot(name) == Slot::kTombstone;
  throw Failure::uncertain(Code::kUnavailable,
                           "cannot fence " + std::string(name) + ": " + error_text(errno));
}

void StateStore::retire(std::string_view name) {
  const std::string grave = allocations_ + "/.old-" + std::to_string(getpid()) + "-" + random_hex(8);
  const Fd fd(::open(grave.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const auto fail = [&] {
    const std::string why = error_text(errno);
    unlink(grave.c_str());
    throw Failure::failed_dirty(Code::kUnavailable, "the sandbox " + std::string(name) +
                                                        " is gone but its record is not: " + why);
  };
  if (!fd.valid()) fail();
  if (renameat2(AT_FDCWD, grave.c_str(), AT_FDCWD, path_of(name).c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != ENOENT) fail();
    unlink(grave.c_str());
    return;
  }
  bury(grave);
}

void StateStore::bury(std::string grave) {
  {
    const std::lock_guard<std::mutex> lock(graves_mutex_);
    if (!digger_.joinable()) digger_ = std::thread([this] { serve_graves(); });
    graves_.push_back(std::move(grave));
  }
  grave_dug_.notify_one();
}

// Until there is nothing left to remove and nobody who would bring more.
void StateStore::serve_graves() {
  std::unique_lock<std::mutex> lock(graves_mutex_);
  while (true) {
    grave_dug_.wait(lock, [this] { return closing_ || !graves_.empty(); });
    const std::vector<std::string> graves = std::exchange(graves_, {});
    if (graves.empty()) return;
    lock.unlock();
    for (const std::string& grave : graves) remove_folder(grave);
    lock.lock();
  }
}

void StateStore::remove(std::string_view name) { remove_folder(path_of(name)); }

void StateStore::remove_folder(const std::string& path) const {
  if (unlink(path.c_str()) == 0) return;  // it was a tombstone already
  for (const char* file : {kRecord, kProcess, kAlive, kDraft}) unlink((path + "/" + file).c_str());
  rmdir(path.c_str());
}

std::vector<std::string> StateStore::names() const {
  std::vector<std::string> found = entries(allocations_);
  std::erase_if(found, [this](const std::string& name) {
    struct stat info{};
    return !valid_name(name) || lstat(path_of(name).c_str(), &info) != 0 || !S_ISDIR(info.st_mode);
  });
  std::sort(found.begin(), found.end());
  return found;
}

void StateStore::tidy() {
  struct Grave {
    time_t made;
    std::string name;
  };
  std::vector<Grave> graves;
  const time_t now = time(nullptr);
  for (const std::string& name : entries(allocations_)) {
    struct stat info{};
    if (lstat(path_of(name).c_str(), &info) != 0) continue;
    const time_t age = now - info.st_mtime;
    if (name.starts_with(kTemporaryPrefix)) {
      if (age > kTombstoneFloorSeconds) remove_folder(path_of(name));
    } else if (S_ISREG(info.st_mode)) {
      graves.push_back({info.st_mtime, name});
    }
  }
  std::sort(graves.begin(), graves.end(),
            [](const Grave& a, const Grave& b) { return a.made < b.made; });
  std::size_t left = graves.size();
  for (const Grave& grave : graves) {
    const time_t age = now - grave.made;
    const bool over = age > kTombstoneSeconds || (left > kTombstonesMax && age > kTombstoneFloorSeconds);
    if (!over) break;
    unlink(path_of(grave.name).c_str());
    --left;
  }
}

}  // namespace berth::local
