#include "core/plugin/table_driver.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "core/base/json.h"
#include "core/plugin/driver_operation.h"

namespace berth::plugin {
namespace {

constexpr std::uint32_t kLogLinesPerSecond = 500;
constexpr std::uint64_t kConfigKeyBytesMax = 4096;

std::string_view view(berth_str text) {
  return text.ptr == nullptr ? std::string_view()
                             : std::string_view(text.ptr, static_cast<std::size_t>(text.len));
}

std::uint64_t monotonic_ns() {
  return static_cast<std::uint64_t>(
      Instant(std::chrono::steady_clock::now()).time_since_epoch().count());
}

}  // namespace

// The functions a provider may call. Nothing here throws into it.
struct TableDriver::HostTable {
  static TableDriver& self(void* ctx) { return *static_cast<TableDriver*>(ctx); }

  static void log(void* ctx, berth_log_level level, berth_str message) noexcept {
    self(ctx).log(std::min<std::uint32_t>(level, BERTH_LOG_ERROR), view(message));
  }

  static void op_complete(void* ctx, berth_op op, const berth_outcome* outcome) noexcept {
    TableDriver& driver = self(ctx);
    const OperationPointer operation = driver.take(op);
    if (!operation)
      return driver.violation("OP-002", fmt::format("op_complete of operation {}, which is not "
                                                    "open: it was completed before or never "
                                                    "existed", op));
    const bool shutdown = operation->request.slot == Slot::kShutdown;
    if (shutdown && driver.open_operations() > 0)
      driver.violation("SHUT-001", "shutdown completed while other operations are open");
    if (shutdown) {
      driver.closed_ = true;
      driver.tell_dropped();
    }
    operation->complete(driver.events_, outcome);
  }

  static void op_stage(void* ctx, berth_op op, berth_str stage) noexcept {
    TableDriver& driver = self(ctx);
    const OperationPointer operation = driver.find_open(op, "op_stage");
    if (!operation) return;
    std::string_view text = view(stage);
    const bool too_long = text.size() > BERTH_STAGE_MAX_BYTES;
    if (too_long || !is_valid_utf8(text) || text.find('\0') != std::string_view::npos) {
      driver.violation(too_long ? "MEM-006" : "MEM-005",
                       too_long ? "a stage that is longer than 64 bytes"
                                : "a stage that is not UTF-8 without NUL characters");
      return;
    }
    operation->stage(driver.events_, text);
  }

  static std::uint32_t op_cancelled(void* ctx, berth_op op) noexcept {
    const OperationPointer operation = self(ctx).find_open(op, "op_cancelled");
    return !operation || operation->is_cancelled() ? 1 : 0;
  }

  static std::int32_t op_cancel_fd(void* ctx, berth_op op) noexcept {
    const OperationPointer operation = self(ctx).find_open(op, "op_cancel_fd");
    return operation ? operation->cancel_fd() : -1;
  }

  static std::uint64_t op_deadline(void* ctx, berth_op op) noexcept {
    const OperationPointer operation = self(ctx).find_open(op, "op_deadline");
    if (!operation) return 0;
    return static_cast<std::uint64_t>(operation->request.deadline.time_since_epoch().count());
  }

  static berth_flow output(void* ctx, berth_op op, berth_stream stream,
                           berth_bytes bytes) noexcept {
    TableDriver& driver = self(ctx);
    const OperationPointer operation = driver.find_open(op, "output");
    return operation ? operation->output(driver.events_, stream, bytes) : BERTH_OUTPUT_CANCELLED;
  }

  static berth_input_status input(void* ctx, berth_op op, std::uint8_t* buffer,
                                  std::uint64_t capacity, std::uint64_t* got) noexcept {
    TableDriver& driver = self(ctx);
    std::uint64_t count = 0;
    const OperationPointer operation = driver.find_open(op, "input");
    const berth_input_status status =
        operation ? operation->input(driver.events_, buffer, capacity, count)
                  : BERTH_INPUT_CANCELLED;
    if (got != nullptr) *got = count;
    return status;
  }

  static std::int32_t op_ready_fd(void* ctx, berth_op op) noexcept {
    const OperationPointer operation = self(ctx).find_open(op, "op_ready_fd");
    return operation ? operation->ready_fd() : -1;
  }

  static berth_wait_status op_wait(void* ctx, berth_op op, std::uint64_t timeout_ns) noexcept {
    const OperationPointer operation = self(ctx).find_open(op, "op_wait");
    return operation ? operation->wait(timeout_ns) : BERTH_WAIT_CANCELLED;
  }

  static std::uint32_t config_get(void* ctx, berth_str key, berth_write_fn write,
                                  void* user) noexcept {
    if (key.len > kConfigKeyBytesMax || write == nullptr) return 0;
    const auto document = parse_json(self(ctx).settings_.config_json);
    if (!document || !document->is_object()) return 0;
    const auto* value = document->get_object().if_contains(view(key));
    if (value == nullptr) return 0;
    const std::string text = canonical_json(*value);
    write(user, text.data(), text.size());
    return 1;
  }

  static std::uint32_t secret_get(void* ctx, berth_str name, berth_write_fn write,
                                  void* user) noexcept {
    TableDriver& driver = self(ctx);
    const auto& declared = driver.settings_.declared;
    if (std::find(declared.begin(), declared.end(), view(name)) == declared.end()) {
      driver.violation("SCOPE-004", fmt::format("secret_get of {}, which the manifest does not declare",
                                              bounded_message(view(name).substr(0, 128))));
      return 0;
    }
    const auto found = driver.settings_.variables.find(view(name));
    if (found == driver.settings_.variables.end() || write == nullptr) return 0;
    write(user, found->second.data(), found->second.size());
    return 1;
  }

  static std::uint64_t now(void*) noexcept { return monotonic_ns(); }

  static std::uint32_t post_blocking(void* ctx, berth_task_fn task, void* user) noexcept {
    TableDriver& driver = self(ctx);
    return !driver.closed_ && driver.threads_.post(task, user) ? 1 : 0;
  }
};

TableDriver::TableDriver(DriverEvents& events, DriverSettings settings)
    : events_(events),
      settings_(std::move(settings)),
      log_limit_(kLogLinesPerSecond),
      threads_(settings_.threads_max, [this] {
        violation("ERR-001", "an exception left a task that was given to post_blocking");
      }) {
  host_.struct_size = sizeof host_;
  host_.ctx = this;
  host_.log = &HostTable::log;
  host_.op_complete = &HostTable::op_complete;
  host_.op_stage = &HostTable::op_stage;
  host_.op_cancelled = &HostTable::op_cancelled;
  host_.op_cancel_fd = &HostTable::op_cancel_fd;
  host_.op_deadline = &HostTable::op_deadline;
  host_.output = &HostTable::output;
  host_.input = &HostTable::input;
  host_.op_ready_fd = &HostTable::op_ready_fd;
  host_.op_wait = &HostTable::op_wait;
  host_.config_get = &HostTable::config_get;
  host_.secret_get = &HostTable::secret_get;
  host_.now = &HostTable::now;
  host_.post_blocking = &HostTable::post_blocking;
}

TableDriver::~TableDriver() { close_threads(); }

void TableDriver::close_threads() {
  closed_ = true;
  threads_.close();
}

void TableDriver::start(OpId op, Request request) {
  auto operation = std::make_shared<Operation>(op, std::move(request));
  {
    const std::lock_guard lock(mutex_);
    operations_.emplace(op, operation);
  }
  const Slot slot = operation->request.slot;
  try {
    operation->arguments.call(binding_.table, binding_.self, op, operation->request);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& thrown) {
    ended_by_exception(op, slot, thrown.what());
  } catch (...) {
    ended_by_exception(op, slot, "of unknown type");
  }
}

void TableDriver::ended_by_exception(OpId op, Slot slot, std::string_view what) {
  violation("ERR-001", fmt::format("an exception left slot {}", to_string(slot)));
  const OperationPointer operation = take(op);
  if (!operation) return;
  operation->complete(events_, reply_of(OutcomeClass::kUncertain, OutcomeCode::kHostException,
                                        fmt::format("the provider threw an exception out of {}: {}",
                                                    to_string(slot), bounded_message(what))));
}

void TableDriver::cancel(OpId op) {
  if (const OperationPointer operation = find(op)) operation->cancel();
}

void TableDriver::grant_output(OpId op, std::uint64_t bytes) {
  if (const OperationPointer operation = find(op)) operation->grant(bytes);
}

void TableDriver::limit_output(OpId op, Stream stream) {
  if (const OperationPointer operation = find(op)) operation->limit(stream);
}

void TableDriver::give_input(OpId op, std::string_view bytes, bool end) {
  if (const OperationPointer operation = find(op)) operation->give(bytes, end);
}

std::size_t TableDriver::open_operations() {
  const std::lock_guard lock(mutex_);
  return operations_.size();
}

TableDriver::OperationPointer TableDriver::find(OpId op) {
  const std::lock_guard lock(mutex_);
  const auto found = operations_.find(op);
  return found == operations_.end() ? nullptr : found->second;
}

TableDriver::OperationPointer TableDriver::take(OpId op) {
  const std::lock_guard lock(mutex_);
  const auto found = operations_.find(op);
  if (found == operations_.end()) return nullptr;
  OperationPointer operation = std::move(found->second);
  operations_.erase(found);
  return operation;
}

TableDriver::OperationPointer TableDriver::find_open(OpId op, std::string_view what) {
  OperationPointer operation = find(op);
  if (!operation)
    violation("OP-001", fmt::format("{} of operation {}, which is not open", what, op));
  return operation;
}

void TableDriver::violation(std::string_view clause, std::string text) {
  events_.violation({std::string(clause), std::move(text)});
}

void TableDriver::log(std::uint32_t level, std::string_view line) {
  {
    const std::lock_guard lock(log_mutex_);
    switch (log_limit_.next(monotonic_ns() / 1'000'000'000)) {
      case LineLimit::Verdict::kPass: break;
      case LineLimit::Verdict::kDrop: return;
      case LineLimit::Verdict::kDropAndSay:
        events_.log(BERTH_LOG_WARN, fmt::format("more than {} log lines in a second: the rest of "
                                                "this second is dropped and counted",
                                                log_limit_.per_second()));
        return;
    }
  }
  tell_dropped();
  events_.log(level, bounded_message(line));
}

void TableDriver::tell_dropped() {
  std::uint64_t dropped = 0;
  {
    const std::lock_guard lock(log_mutex_);
    dropped = log_limit_.take_dropped();
  }
  if (dropped != 0) events_.log(BERTH_LOG_WARN, fmt::format("{} log lines were dropped", dropped));
}

}  // namespace berth::plugin
