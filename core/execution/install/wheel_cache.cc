#include "core/execution/install/wheel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/os/folder.h"

namespace berth::install {
namespace {

namespace fs = std::filesystem;

// What a process that was killed left behind is older than any fetch can be.
constexpr std::chrono::hours kAbandonedAfter{6};
constexpr std::string_view kPartPrefix = "part-";
constexpr std::size_t kFilesMax = 65536;

bool is_digest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

WheelCache::Entry::~Entry() {
  if (!path_.empty()) unlink(path_.c_str());
}

void WheelCache::Entry::append(std::string_view bytes) {
  if (!file_.valid()) return;
  bytes_ += bytes.size();
  digest_.update(bytes);
  if (bytes_ > bytes_max_ || !os::write_all(file_.get(), bytes)) file_.reset();
}

WheelCache::WheelCache(fs::path folder, std::uint64_t bytes_max)
    : folder_(std::move(folder)), bytes_max_(bytes_max) {}

os::Fd WheelCache::open(const std::string& sha256) const {
  if (folder_.empty() || !is_digest(sha256)) return {};
  auto file = os::open_file(folder_ / sha256, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  if (!file || fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  futimens(file->get(), nullptr);
  return std::move(*file);
}

std::unique_ptr<WheelCache::Entry> WheelCache::begin() const {
  if (folder_.empty()) return nullptr;
  if (!os::make_private_folders(folder_) || chmod(folder_.c_str(), 0700) != 0) return nullptr;
  fs::path path = folder_ / (std::string(kPartPrefix) + random_hex(12));
  auto file = os::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return nullptr;
  std::unique_ptr<Entry> entry(new Entry());
  entry->file_ = std::move(*file);
  entry->path_ = std::move(path);
  entry->bytes_max_ = bytes_max_;
  return entry;
}

void WheelCache::commit(std::unique_ptr<Entry> entry, const std::string& sha256) const {
  if (entry == nullptr || !entry->file_.valid() || !is_digest(sha256)) return;
  if (entry->digest_.finish_hex() != sha256) return;
  // A file that is not whole after a crash is found out by its digest.
  if (rename(entry->path_.c_str(), (folder_ / sha256).c_str()) == 0) entry->path_.clear();
  make_room();
}

void WheelCache::remove(const std::string& sha256) const {
  if (!folder_.empty() && is_digest(sha256)) unlink((folder_ / sha256).c_str());
}

void WheelCache::make_room() const {
  struct Kept {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<Kept> kept;
  std::uint64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const auto used = it->last_write_time(gone);
    const std::uint64_t bytes = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    const std::string name = it->path().filename().string();
    if (name.rfind(kPartPrefix, 0) == 0) {
      if (now - used > kAbandonedAfter) fs::remove(it->path(), gone);
    } else if (is_digest(name) && kept.size() < kFilesMax) {
      kept.push_back({used, bytes, it->path()});
      total += bytes;
    }
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& oldest : kept) {
    if (total <= bytes_max_) break;
    if (fs::remove(oldest.path, error)) total -= oldest.bytes;
  }
}

}  // namespace berth::install
