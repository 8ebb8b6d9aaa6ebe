#include "tools/berth/live_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <optional>
#include <utility>

namespace berth::cli {
namespace {

// How a descriptor is written without blocking and without changing the open file description,
// which other processes share.
enum class Way {
  kPlain,     // files and devices that never keep a writer waiting
  kSocket,    // MSG_DONTWAIT
  kReopened,  // a description of our own with O_NONBLOCK
  kPolled,    // poll first, then write no more than is sure to fit
};

// What poll(2) promises room for on a pipe.
constexpr std::size_t kPolledChunkBytes = 4096;

struct Target {
  int fd = -1;
  Way way = Way::kPlain;
};

Target open_target(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return {::fcntl(fd, F_DUPFD_CLOEXEC, 3), Way::kPlain};
  const bool terminal = S_ISCHR(info.st_mode) && ::isatty(fd) == 1;
  if (S_ISFIFO(info.st_mode) || terminal) {
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    const int reopened = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (reopened >= 0) return {reopened, Way::kReopened};
    return {::fcntl(fd, F_DUPFD_CLOEXEC, 3), Way::kPolled};
  }
  return {::fcntl(fd, F_DUPFD_CLOEXEC, 3), S_ISSOCK(info.st_mode) ? Way::kSocket : Way::kPlain};
}

bool same_open_file(int a, int b) {
  struct stat left {}, right {};
  return ::fstat(a, &left) == 0 && ::fstat(b, &right) == 0 && left.st_dev == right.st_dev &&
         left.st_ino == right.st_ino;
}

// Bytes written; -1 with errno, EAGAIN included.
ssize_t write_some(const Target& target, std::string_view bytes) {
  switch (target.way) {
    case Way::kSocket:
      return ::send(target.fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Way::kPolled: {
      pollfd ready{target.fd, POLLOUT, 0};
      if (::poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
      }
      return ::write(target.fd, bytes.data(), std::min(bytes.size(), kPolledChunkBytes));
    }
    case Way::kPlain:
    case Way::kReopened:
      return ::write(target.fd, bytes.data(), bytes.size());
  }
  return -1;
}

}  // namespace

struct DescriptorWriter::State : std::enable_shared_from_this<DescriptorWriter::State> {
  Target target;
  boost::asio::posix::stream_descriptor descriptor;
  std::string buffer;
  std::size_t offset = 0;
  bool waiting = false;
  bool failed = false;
  bool closed = false;
  std::function<void(int)> on_failure;
  std::function<void()> on_progress;

  explicit State(boost::asio::any_io_executor executor) : descriptor(std::move(executor)) {}

  std::size_t left() const { return buffer.size() - offset; }

  // Writes what can be written now; waits for the rest.
  void pump() {
    while (left() > 0 && !failed) {
      const ssize_t written = write_some(target, std::string_view(buffer).substr(offset));
      if (written >= 0) {
        offset += static_cast<std::size_t>(written);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return wait();
      } else if (errno != EINTR) {
        return fail_with(errno);
      }
    }
    buffer.clear();
    offset = 0;
  }

  void wait() {
    if (waiting) return;
    waiting = true;
    if (offset > kCompactBytes) {
      buffer.erase(0, offset);
      offset = 0;
    }
    descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                          [self = shared_from_this()](boost::system::error_code error) {
                            self->waiting = false;
                            if (self->closed) return;
                            if (error) return self->fail_with(EIO);
                            self->pump();
                            self->on_progress();
                          });
  }

  void fail_with(int failure) {
    failed = true;
    buffer.clear();
    offset = 0;
    on_failure(failure);
    on_progress();
  }

  static constexpr std::size_t kCompactBytes = std::size_t{1} << 16;
};

DescriptorWriter::DescriptorWriter(boost::asio::any_io_executor executor, int fd,
                                   std::function<void(int)> on_failure,
                                   std::function<void()> on_progress)
    : state_(std::make_shared<State>(std::move(executor))) {
  state_->target = open_target(fd);
  state_->on_failure = std::move(on_failure);
  state_->on_progress = std::move(on_progress);
  // The descriptor owns the number from here on. One that epoll does not take never says EAGAIN.
  boost::system::error_code ignored;
  if (state_->target.fd >= 0) state_->descriptor.assign(state_->target.fd, ignored);
}

DescriptorWriter::~DescriptorWriter() {
  state_->closed = true;
  boost::system::error_code ignored;
  state_->descriptor.close(ignored);
}

void DescriptorWriter::push(std::string_view bytes) {
  if (state_->failed) return;
  state_->buffer.append(bytes);
  if (!state_->waiting) state_->pump();
}

std::size_t DescriptorWriter::waiting_bytes() const { return state_->left(); }
bool DescriptorWriter::failed() const { return state_->failed; }

LiveOutput::LiveOutput(boost::asio::any_io_executor executor,
                       std::function<void(int, int)> on_failure)
    : executor_(std::move(executor)) {
  const auto progress = [this] { progressed(); };
  out_ = std::make_unique<DescriptorWriter>(
      executor_, 1, [on_failure](int failure) { on_failure(1, failure); }, progress);
  if (!same_open_file(1, 2)) {
    err_ = std::make_unique<DescriptorWriter>(
        executor_, 2, [on_failure](int failure) { on_failure(2, failure); }, progress);
  }
}

bool LiveOutput::write(int stream, std::string_view bytes) {
  if (given_up_) return true;
  DescriptorWriter& writer = stream == 2 && err_ ? *err_ : *out_;
  writer.push(bytes);
  if (waiting_bytes() > kHighWater) paused_ = true;
  return !paused_;
}

std::size_t LiveOutput::waiting_bytes() const {
  return out_->waiting_bytes() + (err_ ? err_->waiting_bytes() : 0);
}

void LiveOutput::progressed() {
  const std::size_t waiting = waiting_bytes();
  if (paused_ && waiting < kLowWater) {
    paused_ = false;
    if (resume_) resume_();
  }
  if (waiting == 0 && wake_drained_) std::exchange(wake_drained_, {})();
}

Task<void> LiveOutput::drained() {
  // A failure calls no progress, but leaves nothing waiting either; so look before every wait, and
  // at least every quarter second.
  boost::asio::steady_timer timer(executor_);
  while (waiting_bytes() > 0 && !given_up_) {
    timer.expires_after(std::chrono::milliseconds(250));
    wake_drained_ = [&timer] { timer.cancel(); };
    boost::system::error_code ignored;
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  wake_drained_ = {};
}

Task<void> LiveOutput::drained_while_read(std::function<bool()> hurried) {
  boost::asio::steady_timer timer(executor_);
  std::size_t waiting = waiting_bytes();
  auto moved = std::chrono::steady_clock::now();
  while (waiting_bytes() > 0 && !given_up_) {
    timer.expires_after(std::chrono::milliseconds(250));
    wake_drained_ = [&timer] { timer.cancel(); };
    boost::system::error_code ignored;
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    const auto now = std::chrono::steady_clock::now();
    if (waiting_bytes() < waiting || !hurried()) moved = now;
    waiting = waiting_bytes();
    if (now - moved > kPatience) give_up();
  }
  wake_drained_ = {};
}

void LiveOutput::give_up() {
  given_up_ = true;
  if (paused_) {
    paused_ = false;
    if (resume_) resume_();
  }
  if (wake_drained_) std::exchange(wake_drained_, {})();
}

}  // namespace berth::cli
