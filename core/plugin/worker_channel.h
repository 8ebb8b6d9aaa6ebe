// WorkerChannel: a provider in a worker process of its own.
//
// The worker is in a session and process group of its own, has a reduced environment, and ends when
// its socket does. What it writes to standard output and error becomes bounded log lines. Nothing it
// sends is trusted: a frame that makes no sense ends it.
//
// The worker may also be a keeper, which is nobody's child and outlives this channel: then there is a
// socket and nothing else, and its end is the end.
#ifndef BERTH_CORE_PLUGIN_WORKER_CHANNEL_H_
#define BERTH_CORE_PLUGIN_WORKER_CHANNEL_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/run_loop.h"
#include "core/os/process.h"
#include "core/plugin/channel.h"
#include "core/plugin/line_limit.h"
#include "core/plugin/waiter.h"
#include "core/plugin/wire.h"
#include "core/registry/finding.h"

namespace berth::plugin {

struct WorkerPlan {
  std::filesystem::path program;
  int library = -1;  // the sealed copy; borrowed for the launch
  Hello hello;
  std::vector<std::string> environment;
};

class WorkerChannel final : public Channel,
                            private LookedAt,
                            public std::enable_shared_from_this<WorkerChannel> {
 public:
  static Result<std::shared_ptr<WorkerChannel>> launch(boost::asio::any_io_executor executor,
                                                       const WorkerPlan& plan);
  // Over the socket of a keeper that has attached it; `hello` is sent first, when it is not empty.
  static std::shared_ptr<WorkerChannel> over(boost::asio::any_io_executor executor, os::Fd socket,
                                             std::string hello);
  ~WorkerChannel() override;

  // How loading went. Neither loaded nor refused: it crashed or hung, and `why` says how.
  struct Loading {
    bool loaded = false;
    bool refused = false;
    registry::Findings findings;
    std::string why;
    std::string step;  // the last one begun
  };
  // Waits for the worker to load its provider.
  Task<Loading> loading(Instant deadline);

  // What the worker has printed so far, the last lines of it.
  const std::deque<std::string>& printed() const { return printed_; }

  void set_listener(ChannelListener* listener) override;
  void start(OpId op, Request request) override;
  void cancel(OpId op) override;
  void grant_output(OpId op, std::uint64_t bytes) override;
  void limit_output(OpId op, Stream stream) override;
  void give_input(OpId op, std::string_view bytes, bool end) override;
  void flush() override;
  bool delivered(OpId op) const override;
  int pid() const override { return process_ ? process_->pid() : 0; }
  void kill() override;
  Task<void> end(Instant deadline) override;

  WorkerChannel(boost::asio::any_io_executor executor, std::optional<os::Process> process,
                os::Fd socket, os::Fd printing);

 private:
  static constexpr std::size_t kInboxBytes = 262144;

  bool look() override;
  void watch() override;
  // Has the loop keep running, and look at the socket or be woken by it.
  void begin_receiving();
  void end_receiving();
  void watch_socket();
  void watch_process();
  void watch_printing();
  void on_readable();
  // Takes what has arrived; false at the end of file or on an error.
  bool receive();
  bool take_frames();
  bool take_frame(const Frame& frame);
  bool take_completed(const Frame& frame);
  bool take_loading(const Frame& frame);
  void read_printed();
  void print_line(std::string_view line);
  void tell_dropped();
  void watch_writable();
  void broken(std::string reason);
  // The same, and nothing more is taken from its socket.
  void give_up(std::string reason);
  void process_ended();
  void socket_ended();
  void ended(const std::string& reason);
  std::string describe_end(const os::ProcessEnd& end) const;
  void load_failed(std::string why);

  boost::asio::any_io_executor executor_;
  std::optional<os::Process> process_;  // nothing: a keeper's
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor printing_;
  boost::asio::posix::stream_descriptor process_watch_;
  ChannelListener* listener_ = nullptr;
  LoopLooks& looks_;
  std::optional<boost::asio::any_io_executor> keeps_loop_;  // while something may come
  bool watching_ = false;                                   // the loop will be woken
  std::size_t expected_ = 0;                                // operations begun and not completed

  std::vector<char> inbox_;
  std::size_t inbox_begin_ = 0;
  std::size_t inbox_end_ = 0;
  std::string outbox_;
  std::size_t outbox_at_ = 0;
  std::uint64_t queued_bytes_ = 0;  // ever put into the outbox
  std::uint64_t sent_bytes_ = 0;    // ever taken by the kernel
  // Where the request of an operation begins in that count, until its first byte is taken.
  std::deque<std::pair<OpId, std::uint64_t>> unsent_;
  bool writing_ = false;

  bool dead_ = false;     // nothing is sent or taken any more
  bool ended_ = false;    // the process is reaped, or the socket to a keeper closed
  std::string reason_;    // why it was given up, when the host did
  Loading loading_;
  bool loading_over_ = false;
  Waiter loading_waiter_;
  Waiter end_waiter_;
  std::string line_;
  std::deque<std::string> printed_;
  LineLimit print_limit_;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_WORKER_CHANNEL_H_
