#include "core/plugin/worker_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>

#include "core/base/json.h"

namespace berth::plugin {
namespace {

constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kPrintedLinesMax = 20;
constexpr std::uint32_t kPrintedLinesPerSecond = 500;
constexpr int kReapPatienceMs = 500;

using Descriptor = boost::asio::posix::stream_descriptor;

int duplicate(int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 3); }

}  // namespace

Result<std::shared_ptr<WorkerChannel>> WorkerChannel::launch(boost::asio::any_io_executor executor,
                                                             const WorkerPlan& plan) {
  BERTH_TRY(auto sockets, os::socket_pair());
  BERTH_TRY(os::Pipe printing, os::make_pipe());
  BERTH_TRY(const os::Fd nothing, os::open_file("/dev/null", O_RDONLY));
  BERTH_CHECK_OK(os::set_non_blocking(printing.read_end.get()));
  os::SpawnRequest request;
  request.program = plan.program;
  request.environment = plan.environment;
  request.descriptors = {{nothing.get(), 0},
                         {printing.write_end.get(), 1},
                         {printing.write_end.get(), 2},
                         {sockets.second.get(), 3},
                         {plan.library, 4}};
  BERTH_TRY(os::Process process, os::Process::spawn(request));
  auto channel = std::make_shared<WorkerChannel>(std::move(executor), std::optional(std::move(process)),
                                                 std::move(sockets.first),
                                                 std::move(printing.read_end));
  channel->outbox_ = encode_hello(plan.hello);
  channel->queued_bytes_ = channel->outbox_.size();
  channel->begin_receiving();
  channel->watch_process();
  channel->watch_printing();
  channel->flush();
  return channel;
}

std::shared_ptr<WorkerChannel> WorkerChannel::over(boost::asio::any_io_executor executor, os::Fd socket,
                                                   std::string hello) {
  auto channel = std::make_shared<WorkerChannel>(std::move(executor), std::nullopt, std::move(socket),
                                                 os::Fd());
  channel->outbox_ = std::move(hello);
  channel->queued_bytes_ = channel->outbox_.size();
  channel->begin_receiving();
  channel->flush();
  return channel;
}

WorkerChannel::WorkerChannel(boost::asio::any_io_executor executor, std::optional<os::Process> process,
                             os::Fd socket, os::Fd printing)
    : executor_(executor),
      process_(std::move(process)),
      socket_(executor, socket.release()),
      printing_(executor),
      process_watch_(executor),
      looks_(boost::asio::use_service<LoopLooks>(
          boost::asio::query(executor, boost::asio::execution::context))),
      inbox_(kInboxBytes),
      print_limit_(kPrintedLinesPerSecond) {
  if (printing.valid()) printing_.assign(printing.release());
  if (process_) process_watch_.assign(duplicate(process_->pidfd()));
}

WorkerChannel::~WorkerChannel() { looks_.remove(*this); }

void WorkerChannel::set_listener(ChannelListener* listener) {
  listener_ = listener;
  if (listener_ == nullptr) return;
  for (const std::string& line : printed_)
    listener_->on_log(LogLevel::kInfo, "the provider printed: " + line);
}

void WorkerChannel::start(OpId op, Request request) {
  const std::string frame = encode_start(op, request);
  unsent_.emplace_back(op, queued_bytes_);
  ++expected_;
  outbox_ += frame;
  queued_bytes_ += frame.size();
}

void WorkerChannel::cancel(OpId op) {
  const std::string frame = WireWriter(FrameType::kCancel, op).take();
  outbox_ += frame;
  queued_bytes_ += frame.size();
}

void WorkerChannel::grant_output(OpId op, std::uint64_t bytes) {
  WireWriter out(FrameType::kGrant, op);
  out.number(bytes);
  const std::string frame = out.take();
  outbox_ += frame;
  queued_bytes_ += frame.size();
}

void WorkerChannel::limit_output(OpId op, Stream stream) {
  WireWriter out(FrameType::kLimit, op);
  out.number(static_cast<std::uint8_t>(stream));
  const std::string frame = out.take();
  outbox_ += frame;
  queued_bytes_ += frame.size();
}

void WorkerChannel::give_input(OpId op, std::string_view bytes, bool end) {
  WireWriter out(FrameType::kInput, op);
  out.number<std::uint8_t>(end ? 1 : 0);
  out.append(bytes);
  const std::string frame = out.take();
  outbox_ += frame;
  queued_bytes_ += frame.size();
}

void WorkerChannel::flush() {
  if (dead_ || writing_) return;
  while (outbox_at_ < outbox_.size()) {
    const ssize_t sent = ::send(socket_.native_handle(), outbox_.data() + outbox_at_,
                                outbox_.size() - outbox_at_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return watch_writable();
    // What broke it is told by the end of the process, which is watched.
    if (sent < 0) return broken("its socket broke");
    outbox_at_ += static_cast<std::size_t>(sent);
    sent_bytes_ += static_cast<std::uint64_t>(sent);
    while (!unsent_.empty() && unsent_.front().second < sent_bytes_) unsent_.pop_front();
  }
  outbox_.clear();
  outbox_at_ = 0;
}

void WorkerChannel::watch_writable() {
  writing_ = true;
  socket_.async_wait(Descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->writing_ = false;
                       if (!error) self->flush();
                     });
}

bool WorkerChannel::delivered(OpId op) const {
  return std::none_of(unsent_.begin(), unsent_.end(),
                      [&](const auto& entry) { return entry.first == op; });
}

bool WorkerChannel::take_loading(const Frame& frame) {
  if (frame.type == FrameType::kStep) {
    WireReader in(frame.payload, WireReader::Texts::kUtf8);
    loading_.step = in.text(256);
    return in.finished();
  }
  if (frame.type == FrameType::kLog || frame.type == FrameType::kViolation) return true;
  if (frame.type != FrameType::kLoaded && frame.type != FrameType::kRefused) return false;
  auto findings = decode_findings(frame.payload);
  if (!findings) return false;
  loading_.findings = std::move(*findings);
  loading_.loaded = frame.type == FrameType::kLoaded;
  loading_.refused = !loading_.loaded;
  loading_over_ = true;
  loading_waiter_.wake_later(executor_);
  return true;
}

void WorkerChannel::load_failed(std::string why) {
  if (loading_over_) return;
  loading_over_ = true;
  loading_.why = std::move(why);
  loading_waiter_.wake_later(executor_);
}

Task<WorkerChannel::Loading> WorkerChannel::loading(Instant deadline) {
  const auto self = shared_from_this();
  boost::asio::steady_timer timer(executor_, deadline);
  timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto channel = weak.lock();
    if (error || !channel || channel->loading_over_) return;
    channel->load_failed("it did not return in time");
    channel->kill();
  });
  if (!loading_over_) co_await loading_waiter_.wait();
  timer.cancel();
  // What it printed while loading may still be in the pipe.
  read_printed();
  co_return loading_;
}

void WorkerChannel::watch_printing() {
  printing_.async_wait(Descriptor::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (error) return;
                         self->read_printed();
                         if (self->printing_.is_open()) self->watch_printing();
                       });
}

void WorkerChannel::read_printed() {
  std::array<char, 16384> chunk;
  for (int turns = 0; turns < 8 && printing_.is_open(); ++turns) {
    const ssize_t got = ::read(printing_.native_handle(), chunk.data(), chunk.size());
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      if (!line_.empty()) print_line(std::exchange(line_, {}));
      printing_.close();
      return;
    }
    if (got < 0) return;
    for (const char byte : std::string_view(chunk.data(), static_cast<std::size_t>(got))) {
      if (byte != '\n' && line_.size() < kLineBytesMax) line_.push_back(byte);
      if (byte == '\n') print_line(std::exchange(line_, {}));
    }
  }
}

void WorkerChannel::print_line(std::string_view line) {
  const auto second = static_cast<std::uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch() / std::chrono::seconds(1));
  switch (print_limit_.next(second)) {
    case LineLimit::Verdict::kPass: break;
    case LineLimit::Verdict::kDrop: return;
    case LineLimit::Verdict::kDropAndSay:
      if (listener_ != nullptr)
        listener_->on_log(LogLevel::kWarn,
                          fmt::format("the provider printed more than {} lines in a second: the rest "
                                      "of this second is dropped and counted",
                                      print_limit_.per_second()));
      return;
  }
  tell_dropped();
  std::string text = to_valid_utf8(line);
  printed_.push_back(text);
  if (printed_.size() > kPrintedLinesMax) printed_.pop_front();
  if (listener_ != nullptr) listener_->on_log(LogLevel::kInfo, "the provider printed: " + text);
}

void WorkerChannel::tell_dropped() {
  const std::uint64_t dropped = print_limit_.take_dropped();
  if (dropped == 0 || listener_ == nullptr) return;
  listener_->on_log(LogLevel::kWarn, fmt::format("{} lines that the provider printed were dropped", dropped));
}

void WorkerChannel::watch_process() {
  process_watch_.async_wait(Descriptor::wait_read,
                            [self = shared_from_this()](const boost::system::error_code& error) {
                              if (!error) self->process_ended();
                            });
}

void WorkerChannel::broken(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
  if (process_) return process_->kill();
  boost::asio::post(executor_, [self = shared_from_this()] { self->socket_ended(); });
}

std::string WorkerChannel::describe_end(const os::ProcessEnd& end) const {
  std::string text = fmt::format("worker {} {}", process_->pid(), os::to_string(end));
  // A socket that ended by itself says no more than the end of the process does.
  const bool own_doing = reason_.empty() || reason_ == "its socket ended" || reason_ == "its socket broke";
  if (!own_doing) text = fmt::format("worker {} was ended: {}", process_->pid(), reason_);
  if (!printed_.empty()) text += fmt::format("; it last printed: {}", printed_.back());
  return text;
}

void WorkerChannel::process_ended() {
  const auto end = process_->try_reap();
  if (!end) return watch_process();
  // What it sent before it ended still counts.
  for (bool more = reason_.empty(); more && !dead_;) {
    const std::size_t before = inbox_end_ - inbox_begin_;
    more = receive() && inbox_end_ - inbox_begin_ > before && take_frames();
  }
  read_printed();
  tell_dropped();
  ended(describe_end(*end));
}

void WorkerChannel::socket_ended() {
  if (!ended_) ended(fmt::format("the keeper is gone: {}", reason_));
}

void WorkerChannel::ended(const std::string& reason) {
  ended_ = true;
  const bool told = dead_;
  dead_ = true;
  end_receiving();
  boost::system::error_code ignored;
  socket_.close(ignored);
  printing_.close(ignored);
  process_watch_.close(ignored);
  load_failed(reason);
  end_waiter_.wake_later(executor_);
  if (!told && listener_ != nullptr) listener_->on_closed(*this, reason);
}

void WorkerChannel::kill() {
  dead_ = true;
  end_receiving();
  // The keeper ends what was made over a connection that ends.
  if (!process_ && !ended_) return ended("it was ended");
  if (!process_ || ended_) return;
  process_->kill();
  // A killed process is gone in no time unless the kernel holds it up; then the watch reaps it.
  pollfd poller{process_->pidfd(), POLLIN, 0};
  if (::poll(&poller, 1, kReapPatienceMs) == 1 && process_->try_reap()) {
    ended_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
    read_printed();
    printing_.close(ignored);
    process_watch_.close(ignored);
    load_failed("it was ended");
    end_waiter_.wake_later(executor_);
  }
}

Task<void> WorkerChannel::end(Instant deadline) {
  const auto self = shared_from_this();
  if (ended_) co_return;
  if (!process_) co_return kill();
  flush();
  ::shutdown(socket_.native_handle(), SHUT_WR);
  boost::asio::steady_timer timer(executor_, deadline);
  timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto channel = weak.lock();
    if (!error && channel) channel->kill();
  });
  if (!ended_) co_await end_waiter_.wait();
}

}  // namespace berth::plugin
