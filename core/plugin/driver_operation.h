// One open operation of a TableDriver: its arguments, its data flow and who waits for it.
#ifndef BERTH_CORE_PLUGIN_DRIVER_OPERATION_H_
#define BERTH_CORE_PLUGIN_DRIVER_OPERATION_H_

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/os/fd.h"
#include "core/plugin/abi_arguments.h"
#include "core/plugin/request.h"
#include "core/plugin/table_driver.h"

namespace berth::plugin {

// Thread-safe; every method takes the operation's lock, which also orders its events.
struct TableDriver::Operation {
  explicit Operation(OpId id_, Request request_);

  const OpId id;
  const Request request;
  AbiArguments arguments;

  bool is_cancelled();
  void cancel();
  int cancel_fd();
  int ready_fd();

  berth_flow output(DriverEvents& events, berth_stream stream, berth_bytes bytes);
  void grant(std::uint64_t bytes);
  void limit(Stream stream);

  berth_input_status input(DriverEvents& events, std::uint8_t* buffer, std::uint64_t capacity,
                           std::uint64_t& got);
  // False when more was given than the window allows.
  bool give(std::string_view bytes, bool end);

  berth_wait_status wait(std::uint64_t timeout_ns);

  void stage(DriverEvents& events, std::string_view stage);
  void complete(DriverEvents& events, const berth_outcome* outcome);
  void complete(DriverEvents& events, Reply reply);

 private:
  struct StreamState {
    std::uint64_t sent = 0;
    std::uint64_t cap = 0;  // 0: none
    bool limited = false;
  };

  bool past_deadline() const { return std::chrono::steady_clock::now() >= request.deadline; }
  bool ready() const;
  void refresh();
  std::optional<Stream> accepted_stream(berth_stream stream) const;
  void finish(DriverEvents& events, Reply& reply);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
  bool complete_ = false;
  os::Fd cancel_fd_;
  os::Fd ready_fd_;
  bool ready_signalled_ = false;

  std::array<StreamState, 3> streams_;  // by Stream
  std::int64_t credit_ = static_cast<std::int64_t>(kOutputWindowBytes);
  std::uint64_t overrun_ = 0;
  bool paused_ = false;
  std::string output_fault_;  // why the output is not whole; empty while it is

  std::string input_;
  std::size_t input_at_ = 0;
  std::uint64_t input_taken_ = 0;  // not yet reported
  bool input_end_ = false;
  std::string stage_;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_DRIVER_OPERATION_H_
