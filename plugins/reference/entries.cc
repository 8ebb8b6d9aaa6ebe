#include "plugins/reference/entries.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "berth/abi.h"
#include "berth/outcome.hpp"

namespace berth::reference {
namespace {

// Names that were destroyed are remembered so that a late create of one is refused, but not for
// ever.
constexpr std::size_t kGoneNamesMax = 65536;
constexpr std::size_t kEntryBytesMax = 8192;

class MemoryEntries : public Entries {
 public:
  std::optional<Entry> find(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
  }

  bool insert(const std::string& name, const Entry& entry) override {
    const std::lock_guard lock(mutex_);
    return entries_.emplace(name, entry).second;
  }

  bool replace(const std::string& name, Entry::Kind expected, const Entry& entry) override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end() || found->second.kind != expected) return false;
    found->second = entry;
    if (entry.kind == Entry::Kind::kGone) {
      gone_.push_back(name);
      if (gone_.size() > kGoneNamesMax) {
        entries_.erase(gone_.front());
        gone_.pop_front();
      }
    }
    return true;
  }

  std::vector<std::pair<std::string, Entry>> list(const std::string& cursor,
                                                  std::size_t count_max) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, Entry>> out;
    for (auto at = entries_.upper_bound(cursor); at != entries_.end() && out.size() < count_max;
         ++at)
      out.emplace_back(*at);
    return out;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::deque<std::string> gone_;
};

[[noreturn]] void fail(const std::string& what) {
  throw Failure::uncertain(Code::kUnavailable, "reference: " + what + ": " + std::strerror(errno));
}

struct Descriptor {
  int fd = -1;
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string encode(const Entry& entry) {
  return std::string(1, static_cast<char>(entry.kind)) + "\n" +
         std::to_string(entry.created_unix_ms) + "\n" + std::to_string(entry.expires_unix_ms) +
         "\n" + std::to_string(entry.lookups_left) + "\n" + entry.owner_tag + "\n" + entry.account +
         "\n";
}

std::optional<Entry> decode(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() != 6 || lines[0].size() != 1) return std::nullopt;
  Entry entry;
  entry.kind = static_cast<Entry::Kind>(lines[0][0]);
  std::uint64_t* const numbers[] = {&entry.created_unix_ms, &entry.expires_unix_ms,
                                    &entry.lookups_left};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string_view digits = lines[i + 1];
    if (std::from_chars(digits.data(), digits.data() + digits.size(), *numbers[i]).ec !=
        std::errc())
      return std::nullopt;
  }
  entry.owner_tag = lines[4];
  entry.account = lines[5];
  return entry;
}

// One file per name. Every change holds an exclusive lock on the folder, so processes agree too; a
// new content appears by rename, so a reader never sees half of one.
class FolderEntries : public Entries {
 public:
  explicit FolderEntries(std::string folder) : folder_(std::move(folder)) {
    if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) fail("cannot make " + folder_);
  }

  std::optional<Entry> find(const std::string& name) override { return read(path_of(name)); }

  bool insert(const std::string& name, const Entry& entry) override {
    const std::lock_guard lock(mutex_);
    const Descriptor folder_lock = lock_folder();
    if (read(path_of(name))) return false;
    write(path_of(name), entry);
    return true;
  }

  bool replace(const std::string& name, Entry::Kind expected, const Entry& entry) override {
    const std::lock_guard lock(mutex_);
    const Descriptor folder_lock = lock_folder();
    const std::optional<Entry> found = read(path_of(name));
    if (!found || found->kind != expected) return false;
    write(path_of(name), entry);
    return true;
  }

  std::vector<std::pair<std::string, Entry>> list(const std::string& cursor,
                                                  std::size_t count_max) override {
    std::vector<std::string> names;
    for (const auto& item : std::filesystem::directory_iterator(folder_)) {
      std::string name = item.path().filename().string();
      if (name.ends_with(".entry")) {
        name.resize(name.size() - 6);
        if (name > cursor) names.push_back(std::move(name));
      }
    }
    std::sort(names.begin(), names.end());
    std::vector<std::pair<std::string, Entry>> out;
    for (const std::string& name : names) {
      if (out.size() == count_max) break;
      if (const auto entry = find(name)) out.emplace_back(name, *entry);
    }
    return out;
  }

 private:
  std::string path_of(const std::string& name) const {
    const bool safe =
        !name.empty() && name.size() <= BERTH_NAME_MAX_BYTES &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (!safe)
      throw Failure::rejected(Code::kInvalidArgument, "reference: not a sandbox name: " + name);
    return folder_ + "/" + name + ".entry";
  }

  Descriptor lock_folder() const {
    Descriptor lock(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.fd < 0 || ::flock(lock.fd, LOCK_EX) != 0) fail("cannot lock " + folder_);
    return lock;
  }

  static std::optional<Entry> read(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.fd < 0) {
      if (errno == ENOENT) return std::nullopt;
      fail("cannot read " + path);
    }
    char buffer[kEntryBytesMax];
    const ssize_t got = ::read(file.fd, buffer, sizeof buffer);
    if (got < 0) fail("cannot read " + path);
    const auto entry = decode({buffer, static_cast<std::size_t>(got)});
    if (!entry)
      throw Failure::uncertain(Code::kInternal, "reference: " + path + " is not an entry");
    return entry;
  }

  static void write(const std::string& path, const Entry& entry) {
    const std::string draft = path + ".new";
    const std::string text = encode(entry);
    const Descriptor file(
        ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.fd < 0 ||
        ::write(file.fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      fail("cannot write " + draft);
    if (std::rename(draft.c_str(), path.c_str()) != 0) fail("cannot replace " + path);
  }

  std::string folder_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Entries> Entries::in_memory() { return std::make_unique<MemoryEntries>(); }

std::unique_ptr<Entries> Entries::in_folder(const std::string& folder) {
  return std::make_unique<FolderEntries>(folder);
}

}  // namespace berth::reference
