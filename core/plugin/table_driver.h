// TableDriver: calls a provider's table and is the host's table for it.
//
// One of it per loaded provider, in the worker or, for in-process hosting, in the host. Operations
// are started and steered from one thread, the loop's; the provider answers from any thread. What it
// says is checked here and handed on as DriverEvents.
#ifndef BERTH_CORE_PLUGIN_TABLE_DRIVER_H_
#define BERTH_CORE_PLUGIN_TABLE_DRIVER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/plugin/abi_reply.h"
#include "core/plugin/binding.h"
#include "core/plugin/lent_threads.h"
#include "core/plugin/line_limit.h"
#include "core/plugin/request.h"
#include "sdk/include/berth/abi.h"

namespace berth::plugin {

// What a provider does, in the order in which it does it for each operation. Called on any thread,
// with the operation's lock held: an implementation queues or sends, and calls nothing back.
class DriverEvents {
 public:
  virtual ~DriverEvents() = default;
  virtual void stage(OpId op, std::string_view stage) = 0;
  virtual void output(OpId op, Stream stream, std::string_view bytes) = 0;
  virtual void input_taken(OpId op, std::uint64_t bytes) = 0;
  virtual void completed(OpId op, Reply reply) = 0;
  virtual void log(std::uint32_t level, std::string_view line) = 0;
  virtual void violation(const Violation& violation) = 0;
};

struct DriverSettings {
  std::string config_json = "{}";
  std::map<std::string, std::string, std::less<>> variables;  // the declared ones that are set
  std::vector<std::string> declared;                          // every declared one
  std::uint32_t threads_max = 1;
};

class TableDriver {
 public:
  // `events` outlives the driver.
  TableDriver(DriverEvents& events, DriverSettings settings);
  TableDriver(const TableDriver&) = delete;
  TableDriver& operator=(const TableDriver&) = delete;
  // Waits for lent threads. The provider must have shut down or be about to die with the process.
  ~TableDriver();

  // The table to offer; valid as long as this object.
  const berth_host_v1& host() const { return host_; }
  // Before the first operation.
  void set_binding(Binding binding) { binding_ = std::move(binding); }

  // `op` is not zero and was never used before. May complete before it returns.
  void start(OpId op, Request request);
  void cancel(OpId op);
  void grant_output(OpId op, std::uint64_t bytes);
  void limit_output(OpId op, Stream stream);
  void give_input(OpId op, std::string_view bytes, bool end);

  std::size_t open_operations();
  // Lent threads that run or are about to.
  std::size_t busy_threads() { return threads_.busy(); }
  // No task is taken any more; waits for those that run.
  void close_threads();

 private:
  struct Operation;
  struct HostTable;
  using OperationPointer = std::shared_ptr<Operation>;

  OperationPointer find(OpId op);
  OperationPointer take(OpId op);
  // The operation, or null after a violation was recorded against `clause`.
  OperationPointer find_open(OpId op, std::string_view what);
  void violation(std::string_view clause, std::string text);
  void ended_by_exception(OpId op, Slot slot, std::string_view what);
  void log(std::uint32_t level, std::string_view line);
  // Says how many lines were dropped, if any.
  void tell_dropped();

  DriverEvents& events_;
  const DriverSettings settings_;
  berth_host_v1 host_{};
  Binding binding_;
  std::mutex mutex_;
  std::unordered_map<OpId, OperationPointer> operations_;
  std::mutex log_mutex_;
  LineLimit log_limit_;
  std::atomic<bool> closed_{false};
  LentThreads threads_;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_TABLE_DRIVER_H_
