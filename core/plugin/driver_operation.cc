#include "core/plugin/driver_operation.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace berth::plugin {
namespace {

int make_event() { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void signal_event(const os::Fd& fd) {
  const std::uint64_t one = 1;
  if (fd.valid() && ::write(fd.get(), &one, sizeof one) < 0) return;  // already signalled
}

void clear_event(const os::Fd& fd) {
  std::uint64_t value = 0;
  if (fd.valid() && ::read(fd.get(), &value, sizeof value) < 0) return;  // was not signalled
}

// A timer on the clock of Instant, which libstdc++ takes from CLOCK_MONOTONIC. Nobody reads it, so it stays readable.
int make_timer() { return ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

// Lets the timer be readable from `due` on; at once where that is over. It cannot fail with a valid descriptor and time.
void set_timer(const os::Fd& fd, Instant due) {
  if (!fd.valid()) return;
  const auto at = std::max<std::chrono::nanoseconds>(due.time_since_epoch(), std::chrono::nanoseconds(1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
  itimerspec time{};
  time.it_value.tv_sec = seconds.count();
  time.it_value.tv_nsec = (at - seconds).count();
  static_cast<void>(::timerfd_settime(fd.get(), TFD_TIMER_ABSTIME, &time, nullptr));
}

}  // namespace

TableDriver::Operation::Operation(OpId id_, Request request_)
    : id(id_), request(std::move(request_)) {
  input_end_ = !request.has_input;
  if (const auto* run = std::get_if<RunCall>(&request.arguments)) {
    streams_[static_cast<std::size_t>(Stream::kStdout)].cap = run->command.stdout_cap_bytes;
    streams_[static_cast<std::size_t>(Stream::kStderr)].cap = run->command.stderr_cap_bytes;
  }
}

bool TableDriver::Operation::is_cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_ || past_deadline();
}

void TableDriver::Operation::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  set_timer(cancel_fd_, Instant::min());
  changed_.notify_all();
}

int TableDriver::Operation::cancel_fd() {
  const std::lock_guard lock(mutex_);
  if (!cancel_fd_.valid()) {
    cancel_fd_ = os::Fd(make_timer());
    set_timer(cancel_fd_, cancelled_ ? Instant::min() : request.deadline);
  }
  return cancel_fd_.get();
}

int TableDriver::Operation::ready_fd() {
  const std::lock_guard lock(mutex_);
  if (!ready_fd_.valid()) {
    ready_fd_ = os::Fd(make_event());
    ready_signalled_ = false;
    refresh();
  }
  return ready_fd_.get();
}

bool TableDriver::Operation::ready() const {
  return paused_ ? credit_ > 0 : input_at_ < input_.size() || input_end_;
}

void TableDriver::Operation::refresh() {
  const bool now = ready();
  if (ready_fd_.valid() && now != ready_signalled_) {
    if (now) signal_event(ready_fd_);
    else clear_event(ready_fd_);
    ready_signalled_ = now;
  }
  if (now) changed_.notify_all();
}

std::optional<Stream> TableDriver::Operation::accepted_stream(berth_stream stream) const {
  if (request.slot == Slot::kGetFile && stream == BERTH_STREAM_FILE) return Stream::kFile;
  if (request.slot == Slot::kRun && stream == BERTH_STREAM_STDOUT) return Stream::kStdout;
  if (request.slot == Slot::kRun && stream == BERTH_STREAM_STDERR) return Stream::kStderr;
  return std::nullopt;
}

berth_flow TableDriver::Operation::output(DriverEvents& events, berth_stream stream,
                                          berth_bytes bytes) {
  const std::lock_guard lock(mutex_);
  if (complete_ || cancelled_ || past_deadline()) return BERTH_OUTPUT_CANCELLED;
  const auto accepted = accepted_stream(stream);
  if (!accepted || bytes.len > kTransferBytesMax || (bytes.ptr == nullptr && bytes.len > 0)) {
    output_fault_ = !accepted ? fmt::format("it wrote to stream {}, which {} has not", stream,
                                            to_string(request.slot))
                              : fmt::format("it handed over a piece of {} bytes", bytes.len);
    events.violation({accepted ? "MEM-006" : "STRM-001", output_fault_});
    return BERTH_OUTPUT_LIMIT;
  }
  StreamState& state = streams_[static_cast<std::size_t>(*accepted)];
  if (state.limited) return BERTH_OUTPUT_LIMIT;
  std::uint64_t taken = bytes.len;
  if (state.cap != 0) taken = std::min(taken, state.cap - state.sent);
  if (paused_ && credit_ > 0) paused_ = false;
  if (paused_) {
    overrun_ += taken;
    if (overrun_ > kOutputOverrunBytes) {
      if (output_fault_.empty()) {
        output_fault_ = "it kept writing while its output was paused, and some of it was lost";
        events.violation({"STRM-004", output_fault_});
      }
      return BERTH_OUTPUT_PAUSE;
    }
  }
  credit_ -= static_cast<std::int64_t>(taken);
  state.sent += taken;
  if (taken > 0)
    events.output(id, *accepted,
                  {reinterpret_cast<const char*>(bytes.ptr), static_cast<std::size_t>(taken)});
  if (state.cap != 0 && state.sent >= state.cap) {
    state.limited = true;
    return BERTH_OUTPUT_LIMIT;
  }
  if (credit_ <= 0) paused_ = true;
  refresh();
  return paused_ ? BERTH_OUTPUT_PAUSE : BERTH_OUTPUT_ACCEPTED;
}

void TableDriver::Operation::grant(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  constexpr auto kMost = static_cast<std::int64_t>(kOutputWindowBytes);
  credit_ = std::min(kMost, credit_ + static_cast<std::int64_t>(std::min(bytes, kOutputWindowBytes * 4)));
  if (credit_ > 0) overrun_ = 0;
  refresh();
}

void TableDriver::Operation::limit(Stream stream) {
  const std::lock_guard lock(mutex_);
  streams_[static_cast<std::size_t>(stream)].limited = true;
}

berth_input_status TableDriver::Operation::input(DriverEvents& events, std::uint8_t* buffer,
                                                 std::uint64_t capacity, std::uint64_t& got) {
  const std::lock_guard lock(mutex_);
  got = 0;
  if (complete_ || cancelled_ || past_deadline()) return BERTH_INPUT_CANCELLED;
  const std::uint64_t there = input_.size() - input_at_;
  if (there == 0) {
    // Whoever asks for input does not wait for its output to continue.
    if (paused_ && credit_ > 0) paused_ = false;
    refresh();
    return input_end_ ? BERTH_INPUT_END : BERTH_INPUT_AGAIN;
  }
  if (buffer == nullptr || capacity == 0) return BERTH_INPUT_AGAIN;
  got = std::min(there, capacity);
  std::memcpy(buffer, input_.data() + input_at_, static_cast<std::size_t>(got));
  input_at_ += static_cast<std::size_t>(got);
  input_taken_ += got;
  const bool empty = input_at_ == input_.size();
  if (empty) {
    input_.clear();
    input_at_ = 0;
  }
  if (!input_end_ && (empty || input_taken_ >= kInputWindowBytes / 2)) {
    events.input_taken(id, input_taken_);
    input_taken_ = 0;
  }
  refresh();
  return BERTH_INPUT_DATA;
}

bool TableDriver::Operation::give(std::string_view bytes, bool end) {
  const std::lock_guard lock(mutex_);
  if (input_end_) return bytes.empty();
  if (input_.size() - input_at_ + bytes.size() > kInputWindowBytes) return false;
  if (input_at_ > 0) {
    input_.erase(0, input_at_);
    input_at_ = 0;
  }
  input_.append(bytes);
  input_end_ = end;
  refresh();
  return true;
}

berth_wait_status TableDriver::Operation::wait(std::uint64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  Instant until = request.deadline;
  if (timeout_ns != 0) {
    constexpr std::uint64_t kLongest = std::uint64_t{365} * 24 * 3600 * 1'000'000'000;
    const Duration timeout(static_cast<Duration::rep>(std::min(timeout_ns, kLongest)));
    until = std::min(until, Instant(std::chrono::steady_clock::now()) + timeout);
  }
  for (;;) {
    if (complete_ || cancelled_ || past_deadline()) return BERTH_WAIT_CANCELLED;
    if (ready()) {
      paused_ = paused_ && credit_ <= 0;
      refresh();
      return BERTH_WAIT_READY;
    }
    if (changed_.wait_until(lock, until) == std::cv_status::timeout && !ready() &&
        !cancelled_ && !past_deadline() && std::chrono::steady_clock::now() >= until)
      return BERTH_WAIT_TIMEOUT;
  }
}

void TableDriver::Operation::stage(DriverEvents& events, std::string_view stage) {
  const std::lock_guard lock(mutex_);
  if (complete_) return;
  stage_ = stage;
  events.stage(id, stage_);
}

void TableDriver::Operation::complete(DriverEvents& events, const berth_outcome* outcome) {
  const std::lock_guard lock(mutex_);
  std::vector<Violation> violations;
  Reply reply = take_reply(request.slot, outcome, violations);
  for (const Violation& violation : violations) events.violation(violation);
  finish(events, reply);
}

void TableDriver::Operation::complete(DriverEvents& events, Reply reply) {
  const std::lock_guard lock(mutex_);
  finish(events, reply);
}

void TableDriver::Operation::finish(DriverEvents& events, Reply& reply) {
  if (complete_) return;
  complete_ = true;
  if (reply.outcome.stage.empty()) reply.outcome.stage = stage_;
  const std::uint64_t file_bytes = streams_[static_cast<std::size_t>(Stream::kFile)].sent;
  if (const auto* got = std::get_if<FileGot>(&reply.value);
      got != nullptr && got->size_bytes != file_bytes) {
    output_fault_ = fmt::format("it speaks of {} bytes and sent {}", got->size_bytes, file_bytes);
    events.violation({"FILE-004", output_fault_});
  }
  if (!output_fault_.empty() && reply.outcome.done()) {
    const std::string stage = reply.outcome.stage;
    reply = reply_of(OutcomeClass::kUncertain, OutcomeCode::kHostBadReply,
                     "the output is not whole: " + output_fault_);
    reply.outcome.stage = stage;
  }
  changed_.notify_all();
  events.completed(id, std::move(reply));
}

}  // namespace berth::plugin
