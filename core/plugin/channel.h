// Channel: the way from a host to one loaded copy of a provider, in process or in a worker.
#ifndef BERTH_CORE_PLUGIN_CHANNEL_H_
#define BERTH_CORE_PLUGIN_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/plugin/abi_reply.h"
#include "core/plugin/load.h"
#include "core/plugin/request.h"

namespace berth::plugin {

class Channel;

// What comes back. All on the loop, never from inside a Channel's method other than flush(). Views
// last for the call.
class ChannelListener {
 public:
  virtual ~ChannelListener() = default;
  virtual void on_stage(OpId op, std::string_view stage) = 0;
  virtual void on_output(OpId op, Stream stream, std::string_view bytes) = 0;
  virtual void on_input_taken(OpId op, std::uint64_t bytes) = 0;
  // A reply that cannot be decoded for the operation's slot is given up by the channel itself.
  virtual void on_completed(OpId op, Reply reply) = 0;
  // The slot of an open operation, for decoding its reply; false when it is not open.
  virtual bool slot_of(OpId op, Slot& slot) const = 0;
  virtual void on_log(LogLevel level, std::string_view line) = 0;
  virtual void on_violation(const Violation& violation) = 0;
  // Nothing comes any more, and nothing that was sent will be answered.
  virtual void on_closed(Channel& channel, const std::string& reason) = 0;
};

class Channel {
 public:
  virtual ~Channel() = default;

  // Set once, before the first operation; null: nobody listens any more.
  virtual void set_listener(ChannelListener* listener) = 0;

  virtual void start(OpId op, Request request) = 0;
  virtual void cancel(OpId op) = 0;
  virtual void grant_output(OpId op, std::uint64_t bytes) = 0;
  virtual void limit_output(OpId op, Stream stream) = 0;
  virtual void give_input(OpId op, std::string_view bytes, bool end) = 0;
  // Sends what the calls above have queued. In process, delivers what an immediate provider has
  // already answered.
  virtual void flush() = 0;

  // False when provably nothing of the operation's request has left.
  virtual bool delivered(OpId op) const = 0;
  // The worker's process id; 0 in process.
  virtual int pid() const = 0;
  // Ends the worker without asking. In process: nothing can be done.
  virtual void kill() = 0;
  // Lets the provider go after its shutdown has completed; at `deadline` by force.
  virtual Task<void> end(Instant deadline) = 0;
};

// Makes channels with a provider loaded and bound, not opened.
class ChannelSource {
 public:
  virtual ~ChannelSource() = default;
  // Whether another one can be had after the first has ended.
  virtual bool restartable() const = 0;
  virtual Task<Result<std::shared_ptr<Channel>>> make() = 0;
  // What became of `open` on the channel made last.
  virtual void opened(const Outcome& outcome) = 0;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_CHANNEL_H_
