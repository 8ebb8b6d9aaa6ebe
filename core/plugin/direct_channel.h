// DirectChannel: a provider loaded into this process.
//
// The same driver and the same checks as in a worker, and no isolation: a provider that crashes takes
// the host with it, and one that will not end cannot be ended.
#ifndef BERTH_CORE_PLUGIN_DIRECT_CHANNEL_H_
#define BERTH_CORE_PLUGIN_DIRECT_CHANNEL_H_

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/os/fd.h"
#include "core/plugin/channel.h"
#include "core/plugin/table_driver.h"

namespace berth::plugin {

class DirectChannel final : public Channel,
                            public DriverEvents,
                            public std::enable_shared_from_this<DirectChannel> {
 public:
  DirectChannel(boost::asio::any_io_executor executor, DriverSettings settings);
  ~DirectChannel() override;

  // Loads the library. The descriptor stays open for as long as the process lives.
  bool load(os::Fd library, const Claims& claims, registry::Findings& findings);

  void set_listener(ChannelListener* listener) override { listener_ = listener; }
  void start(OpId op, Request request) override;
  void cancel(OpId op) override { driver_->cancel(op); }
  void grant_output(OpId op, std::uint64_t bytes) override { driver_->grant_output(op, bytes); }
  void limit_output(OpId op, Stream stream) override { driver_->limit_output(op, stream); }
  void give_input(OpId op, std::string_view bytes, bool end) override {
    driver_->give_input(op, bytes, end);
  }
  void flush() override;
  bool delivered(OpId) const override { return true; }
  int pid() const override { return 0; }
  void kill() override;
  Task<void> end(Instant deadline) override;

  void stage(OpId op, std::string_view stage) override;
  void output(OpId op, Stream stream, std::string_view bytes) override;
  void input_taken(OpId op, std::uint64_t bytes) override;
  void completed(OpId op, Reply reply) override;
  void log(std::uint32_t level, std::string_view line) override;
  void violation(const Violation& violation) override;

 private:
  struct Event;
  void push(Event event);
  void drain();
  void deliver(Event& event);

  boost::asio::any_io_executor executor_;
  ChannelListener* listener_ = nullptr;
  std::unique_ptr<TableDriver> driver_;
  bool delivering_ = false;
  std::vector<Event> taken_;

  std::mutex mutex_;            // guards what follows
  std::vector<Event> events_;   // not yet delivered
  bool posted_ = false;         // a drain is on its way
  std::thread::id flush_comes_; // the loop's thread between start and flush: no need to post
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_DIRECT_CHANNEL_H_
