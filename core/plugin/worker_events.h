// What a worker of either kind does with a provider: loads it, steers its operations by the frames of a
// host, and turns what it does into frames.
#ifndef BERTH_CORE_PLUGIN_WORKER_EVENTS_H_
#define BERTH_CORE_PLUGIN_WORKER_EVENTS_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "core/plugin/table_driver.h"
#include "core/plugin/wire.h"

namespace berth::plugin {

// Any thread, with the operation's lock held, as DriverEvents says.
class FrameEvents : public DriverEvents {
 public:
  void stage(OpId op, std::string_view stage) final;
  void output(OpId op, Stream stream, std::string_view bytes) final;
  void input_taken(OpId op, std::uint64_t bytes) final;
  void completed(OpId op, Reply reply) final;
  void log(std::uint32_t level, std::string_view line) final;
  void violation(const Violation& violation) final;

  // Before the operation is started: its reply is encoded by its slot.
  void begin(OpId op, Slot slot);

 protected:
  // What the host calls this operation.
  virtual OpId number_of(OpId op) const { return op; }
  // Sends both parts as one; `op` is 0 for what belongs to no operation.
  virtual void send(OpId op, std::string_view first, std::string_view second) = 0;
  // The operation has ended and its reply is about to be sent. False: nobody wants it.
  virtual bool ending(OpId, Slot, const Reply&) { return true; }

 private:
  std::mutex slots_mutex_;
  std::unordered_map<OpId, Slot> slots_;
};

// Sends both parts, whole. False when the other side is gone or takes nothing for as long as the socket
// may wait.
bool send_frame(int socket, std::string_view first, std::string_view second);

// A driver for what the host says of the provider. `events` outlives it.
std::unique_ptr<TableDriver> make_driver(DriverEvents& events, const Hello& hello);

// Loads the library behind a descriptor and gives it to the driver. False with findings that refuse.
bool bind_library(int library, TableDriver& driver, const Hello& hello,
                  const std::function<void(std::string_view)>& on_step, registry::Findings& findings);

// Does what a frame about the open operation `op` asks: cancel, grant, limit, input. False when the
// frame is another one or cannot be read.
bool steer(TableDriver& driver, OpId op, const Frame& frame);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_WORKER_EVENTS_H_
