// FolderWatch: a folder with all below it, watched for changes by the kernel; nothing is asked for again
// and again.
#ifndef BERTH_TOOLS_BERTH_FOLDER_WATCH_H_
#define BERTH_TOOLS_BERTH_FOLDER_WATCH_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "core/base/result.h"

namespace berth::cli {

// Lives on the event loop's thread; must outlive the loop's work or be stopped before.
class FolderWatch {
 public:
  // What a build makes and what an editor leaves for itself are no changes: folders named build or
  // build-..., hidden names, and names that end in ~.
  static bool is_source(std::string_view name);

  // `on_change` is called once the folder has been quiet for a moment after something changed.
  static Result<std::unique_ptr<FolderWatch>> start(boost::asio::any_io_executor executor,
                                                    const std::filesystem::path& folder,
                                                    std::function<void()> on_change);
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Lets the event loop end.
  void stop();

 private:
  FolderWatch(boost::asio::any_io_executor executor, int fd, std::function<void()> on_change);
  Status add(const std::filesystem::path& folder);
  void wait();
  void take_events();
  void settle();

  boost::asio::posix::stream_descriptor events_;
  boost::asio::steady_timer quiet_;
  std::map<int, std::filesystem::path> folders_;  // by the kernel's number of the watch
  std::function<void()> on_change_;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_FOLDER_WATCH_H_
