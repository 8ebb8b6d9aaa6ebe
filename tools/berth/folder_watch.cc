#include "tools/berth/folder_watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFoldersMax = 1024;
// An editor writes a file in several steps, and a checkout many files.
constexpr std::chrono::milliseconds kQuiet{150};
constexpr std::uint32_t kWatched = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE |
                                   IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;

Error system_error(const fs::path& folder, std::string_view what) {
  return Error(ErrorKind::kIo, fmt::format("{} {}: {}", folder.string(), what,
                                           std::generic_category().message(errno)));
}

}  // namespace

bool FolderWatch::is_source(std::string_view name) {
  return !name.empty() && name != "build" && !name.starts_with("build-") && !name.starts_with('.') &&
         !name.ends_with('~');
}

Result<std::unique_ptr<FolderWatch>> FolderWatch::start(boost::asio::any_io_executor executor,
                                                        const fs::path& folder,
                                                        std::function<void()> on_change) {
  const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) return tl::unexpected<Error>(system_error(folder, "cannot be watched"));
  std::unique_ptr<FolderWatch> watch(new FolderWatch(std::move(executor), fd, std::move(on_change)));
  if (auto added = watch->add(folder); !added) return tl::unexpected<Error>(std::move(added).error());
  watch->wait();
  return watch;
}

FolderWatch::FolderWatch(boost::asio::any_io_executor executor, int fd, std::function<void()> on_change)
    : events_(executor, fd), quiet_(executor), on_change_(std::move(on_change)) {}

Status FolderWatch::add(const fs::path& folder) {
  if (folders_.size() >= kFoldersMax) {
    return fail(ErrorKind::kLimit, fmt::format("more than {} folders cannot be watched; {} is one too many",
                                               kFoldersMax, folder.string()));
  }
  const int number = ::inotify_add_watch(events_.native_handle(), folder.c_str(), kWatched);
  if (number < 0) return tl::unexpected<Error>(system_error(folder, "cannot be watched"));
  folders_[number] = folder;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!is_source(at->path().filename().string())) continue;
    if (at->is_symlink(error) || !at->is_directory(error)) continue;
    if (auto added = add(at->path()); !added) return added;
  }
  return {};
}

void FolderWatch::wait() {
  events_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (error) return;
                       take_events();
                       wait();
                     });
}

void FolderWatch::take_events() {
  alignas(inotify_event) std::array<char, 16384> buffer;
  bool changed = false;
  for (;;) {
    const ssize_t got = ::read(events_.native_handle(), buffer.data(), buffer.size());
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string_view name = event.len == 0 ? "" : buffer.data() + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_IGNORED) != 0) folders_.erase(event.wd);
      if ((event.mask & IN_Q_OVERFLOW) != 0) changed = true;
      if (!is_source(name)) continue;
      const bool folder = (event.mask & IN_ISDIR) != 0;
      // A file that was only created is still being written.
      if (folder || (event.mask & IN_CREATE) == 0) changed = true;
      const auto parent = folders_.find(event.wd);
      if (folder && (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && parent != folders_.end()) {
        // One that is gone again already, or one too many, is not followed.
        static_cast<void>(add(parent->second / name));
      }
    }
  }
  if (changed) settle();
}

void FolderWatch::settle() {
  quiet_.expires_after(kQuiet);
  quiet_.async_wait([this](const boost::system::error_code& error) {
    if (!error) on_change_();
  });
}

void FolderWatch::stop() {
  boost::system::error_code ignored;
  events_.close(ignored);
  quiet_.cancel();
}

}  // namespace berth::cli
