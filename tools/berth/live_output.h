// LiveOutput: passes a program's output on to our own descriptors while it runs, byte for byte,
// without ever blocking the event loop.
//
// A reader that is slow makes the program slow: above kHighWater of waiting bytes the sink says
// pause, below kLowWater it resumes. Where standard output and standard error are the same file,
// what arrives first is written first. One loop, one thread.
#ifndef BERTH_TOOLS_BERTH_LIVE_OUTPUT_H_
#define BERTH_TOOLS_BERTH_LIVE_OUTPUT_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/task.h"

namespace berth::cli {

// Writes to one descriptor in order, as fast as it takes it.
class DescriptorWriter {
 public:
  // `on_failure` is called once, with the errno of the write that failed; everything after it is
  // dropped. `on_progress` is called whenever waiting bytes have become fewer.
  DescriptorWriter(boost::asio::any_io_executor executor, int fd,
                   std::function<void(int)> on_failure, std::function<void()> on_progress);
  ~DescriptorWriter();
  DescriptorWriter(const DescriptorWriter&) = delete;
  DescriptorWriter& operator=(const DescriptorWriter&) = delete;

  void push(std::string_view bytes);
  std::size_t waiting_bytes() const;
  bool failed() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class LiveOutput {
 public:
  static constexpr std::size_t kHighWater = std::size_t{1} << 20;
  static constexpr std::size_t kLowWater = std::size_t{1} << 18;
  static constexpr std::chrono::seconds kPatience{5};

  // `on_failure(stream, errno)`: 1 for standard output, 2 for standard error.
  LiveOutput(boost::asio::any_io_executor executor, std::function<void(int, int)> on_failure);

  // False: taken, but write no more until the function given to on_resume is called.
  bool write(int stream, std::string_view bytes);
  void on_resume(std::function<void()> resume) { resume_ = std::move(resume); }

  // Returns when everything is written or has failed, or at `give_up()`.
  Task<void> drained();
  // The same, for output that is worth waiting for although the run is over: gives up only when
  // `hurried()` and the reader has taken nothing for kPatience.
  Task<void> drained_while_read(std::function<bool()> hurried);
  void give_up();

 private:
  void progressed();
  std::size_t waiting_bytes() const;

  boost::asio::any_io_executor executor_;
  std::function<void()> resume_;
  std::function<void()> wake_drained_;
  bool paused_ = false;
  bool given_up_ = false;
  std::unique_ptr<DescriptorWriter> out_;
  std::unique_ptr<DescriptorWriter> err_;  // null: the same file as out_
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_LIVE_OUTPUT_H_
