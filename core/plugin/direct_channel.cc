#include "core/plugin/direct_channel.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>
#include <utility>

namespace berth::plugin {
namespace {

// A library is never unloaded, and its threads may call the host's table as long as it is loaded: so
// a driver, once a library knows it, stays as long as the process. Reached from here on purpose.
void keep_for_ever(std::shared_ptr<DirectChannel> channel) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::shared_ptr<DirectChannel>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(channel));
}

}  // namespace

struct DirectChannel::Event {
  enum class Kind { kStage, kOutput, kInputTaken, kCompleted, kLog, kViolation };
  Kind kind;
  OpId op = 0;
  std::uint64_t number = 0;  // a stream, a count of bytes or a level
  std::string text = {};
  std::string clause = {};
  Reply reply = {};
};

DirectChannel::DirectChannel(boost::asio::any_io_executor executor, DriverSettings settings)
    : executor_(std::move(executor)),
      driver_(std::make_unique<TableDriver>(*this, std::move(settings))) {}

DirectChannel::~DirectChannel() = default;

bool DirectChannel::load(os::Fd library, const Claims& claims, registry::Findings& findings) {
  keep_for_ever(shared_from_this());
  Binding binding;
  const int descriptor = library.release();
  if (!bind(descriptor, driver_->host(), claims, [](std::string_view) {}, binding, findings))
    return false;
  driver_->set_binding(std::move(binding));
  return true;
}

void DirectChannel::start(OpId op, Request request) {
  {
    const std::lock_guard lock(mutex_);
    flush_comes_ = std::this_thread::get_id();
  }
  driver_->start(op, std::move(request));
}

void DirectChannel::flush() {
  {
    const std::lock_guard lock(mutex_);
    flush_comes_ = {};
  }
  drain();
}

void DirectChannel::push(Event event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    if (posted_ || flush_comes_ == std::this_thread::get_id()) return;
    posted_ = true;
  }
  boost::asio::post(executor_, [self = shared_from_this()] {
    {
      const std::lock_guard lock(self->mutex_);
      self->posted_ = false;
    }
    self->drain();
  });
}

void DirectChannel::drain() {
  if (delivering_) return;
  const auto self = shared_from_this();
  delivering_ = true;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      taken_.swap(events_);
    }
    if (taken_.empty()) break;
    for (Event& event : taken_) deliver(event);
    taken_.clear();
  }
  delivering_ = false;
}

void DirectChannel::deliver(Event& event) {
  if (listener_ == nullptr) return;
  switch (event.kind) {
    case Event::Kind::kStage: return listener_->on_stage(event.op, event.text);
    case Event::Kind::kOutput:
      return listener_->on_output(event.op, static_cast<Stream>(event.number), event.text);
    case Event::Kind::kInputTaken: return listener_->on_input_taken(event.op, event.number);
    case Event::Kind::kCompleted: return listener_->on_completed(event.op, std::move(event.reply));
    case Event::Kind::kLog:
      return listener_->on_log(static_cast<LogLevel>(event.number), event.text);
    case Event::Kind::kViolation: return listener_->on_violation({event.clause, event.text});
  }
}

void DirectChannel::kill() {}

Task<void> DirectChannel::end(Instant deadline) {
  const auto self = shared_from_this();
  boost::asio::steady_timer pause(executor_);
  while (driver_->busy_threads() > 0 && std::chrono::steady_clock::now() < deadline) {
    boost::system::error_code ignored;
    pause.expires_after(std::chrono::milliseconds(2));
    co_await pause.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  if (driver_->busy_threads() == 0) driver_->close_threads();
}

void DirectChannel::stage(OpId op, std::string_view stage) {
  push({.kind = Event::Kind::kStage, .op = op, .text = std::string(stage)});
}

void DirectChannel::output(OpId op, Stream stream, std::string_view bytes) {
  push({.kind = Event::Kind::kOutput,
        .op = op,
        .number = static_cast<std::uint64_t>(stream),
        .text = std::string(bytes)});
}

void DirectChannel::input_taken(OpId op, std::uint64_t bytes) {
  push({.kind = Event::Kind::kInputTaken, .op = op, .number = bytes});
}

void DirectChannel::completed(OpId op, Reply reply) {
  push({.kind = Event::Kind::kCompleted, .op = op, .reply = std::move(reply)});
}

void DirectChannel::log(std::uint32_t level, std::string_view line) {
  push({.kind = Event::Kind::kLog, .number = level, .text = std::string(line)});
}

void DirectChannel::violation(const Violation& violation) {
  push({.kind = Event::Kind::kViolation, .text = violation.text, .clause = violation.clause});
}

}  // namespace berth::plugin
