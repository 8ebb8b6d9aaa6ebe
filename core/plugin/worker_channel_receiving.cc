// WorkerChannel: what comes from the worker.
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <cerrno>
#include <cstring>

#include "core/plugin/worker_channel.h"

namespace berth::plugin {

void WorkerChannel::begin_receiving() {
  keeps_loop_ = boost::asio::prefer(executor_, boost::asio::execution::outstanding_work.tracked);
  looks_.add(*this);
  watch();
}

void WorkerChannel::end_receiving() {
  keeps_loop_.reset();
  looks_.remove(*this);
}

void WorkerChannel::give_up(std::string reason) {
  end_receiving();
  broken(std::move(reason));
}

bool WorkerChannel::look() {
  if (dead_ || expected_ == 0) return false;
  const auto self = shared_from_this();
  const std::size_t before = inbox_end_ - inbox_begin_;
  if (!receive()) return give_up("its socket ended"), true;
  if (inbox_end_ - inbox_begin_ == before) return false;
  take_frames();
  return true;
}

void WorkerChannel::watch() {
  if (watching_ || dead_ || !keeps_loop_) return;
  watching_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->watching_ = false;
                       if (!error) self->on_readable();
                     });
}

// While an answer is due, the loop looks.
void WorkerChannel::watch_socket() {
  if (!looks_.on() || expected_ == 0) watch();
}

void WorkerChannel::on_readable() {
  if (dead_ || !keeps_loop_) return;
  // At most a few buffers in a row, so that one provider's output does not starve the loop.
  for (int turns = 0; turns < 4 && !dead_; ++turns) {
    const std::size_t before = inbox_end_ - inbox_begin_;
    if (!receive()) return give_up("its socket ended");
    const std::size_t got = inbox_end_ - inbox_begin_ - before;
    if (got == 0) break;
    const bool full = inbox_end_ == inbox_.size();
    if (!take_frames()) return;
    if (!full) break;
  }
  if (!dead_) watch_socket();
}

bool WorkerChannel::receive() {
  if (inbox_begin_ > 0 && (inbox_begin_ == inbox_end_ || inbox_end_ == inbox_.size())) {
    std::memmove(inbox_.data(), inbox_.data() + inbox_begin_, inbox_end_ - inbox_begin_);
    inbox_end_ -= inbox_begin_;
    inbox_begin_ = 0;
  }
  // A frame larger than the buffer: its length was checked before.
  if (inbox_end_ == inbox_.size())
    inbox_.resize(std::min(inbox_.size() * 2, kFramePayloadMax + kFrameHeaderBytes + kInboxBytes));
  ssize_t got = -1;
  do got = ::recv(socket_.native_handle(), inbox_.data() + inbox_end_,
                  inbox_.size() - inbox_end_, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
  inbox_end_ += static_cast<std::size_t>(got);
  return got > 0;
}

bool WorkerChannel::take_frames() {
  while (!dead_) {
    std::size_t used = 0;
    const auto frame =
        next_frame({inbox_.data() + inbox_begin_, inbox_end_ - inbox_begin_}, used);
    if (!frame) {
      give_up("it sent " + frame.error().message());
      return false;
    }
    if (!frame->has_value()) return true;
    inbox_begin_ += used;
    if (!take_frame(**frame)) {
      give_up("it sent a frame that cannot be read");
      return false;
    }
  }
  return false;
}

bool WorkerChannel::take_frame(const Frame& frame) {
  if (!loading_over_) return take_loading(frame);
  if (listener_ == nullptr) return true;
  WireReader in(frame.payload, WireReader::Texts::kUtf8);
  switch (frame.type) {
    case FrameType::kStage: {
      const std::string stage = in.text(64);
      if (in.finished()) listener_->on_stage(frame.op, stage);
      return in.good();
    }
    case FrameType::kOutput: {
      const Stream stream = in.choice(Stream::kFile);
      const std::string_view bytes = in.rest();
      if (!in.good() || bytes.size() > kTransferBytesMax) return false;
      listener_->on_output(frame.op, stream, bytes);
      return true;
    }
    case FrameType::kInputTaken: {
      const auto bytes = in.number<std::uint64_t>();
      if (in.finished()) listener_->on_input_taken(frame.op, bytes);
      return in.good();
    }
    case FrameType::kCompleted:
      if (expected_ > 0) --expected_;
      return take_completed(frame);
    case FrameType::kLog: {
      const LogLevel level = in.choice(LogLevel::kError);
      const std::string line = in.text(8192);
      if (in.finished()) listener_->on_log(level, line);
      return in.good();
    }
    case FrameType::kViolation: {
      Violation violation;
      violation.clause = in.text(64);
      violation.text = in.text(8192);
      if (in.finished()) listener_->on_violation(violation);
      return in.good();
    }
    case FrameType::kHello:
    case FrameType::kStart:
    case FrameType::kCancel:
    case FrameType::kGrant:
    case FrameType::kLimit:
    case FrameType::kInput:
    case FrameType::kStep:
    case FrameType::kLoaded:
    case FrameType::kRefused: return false;
  }
  return false;
}

bool WorkerChannel::take_completed(const Frame& frame) {
  Slot slot{};
  // An operation that is no longer known was given up together with its worker.
  if (!listener_->slot_of(frame.op, slot)) return true;
  auto reply = decode_reply(slot, frame.payload);
  if (!reply) return false;
  std::vector<Violation> violations;
  check_reply(slot, *reply, violations);
  for (const Violation& violation : violations) listener_->on_violation(violation);
  if (listener_ != nullptr) listener_->on_completed(frame.op, std::move(*reply));
  return true;
}

}  // namespace berth::plugin
