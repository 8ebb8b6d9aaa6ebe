#include "plugins/reference/delays.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

namespace berth::reference {

void Delays::add(std::chrono::milliseconds delay, int cancel_fd, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (wake_fd_ < 0) {
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = std::thread([this] { loop(); });
  }
  pending_.push_back({Clock::now() + delay, cancel_fd, std::move(task)});
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_fd_, &one, sizeof one) == sizeof one);
}

bool Delays::idle() {
  const std::lock_guard lock(mutex_);
  return wake_fd_ < 0;
}

void Delays::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (wake_fd_ < 0) return;
    stopping_ = true;
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_fd_, &one, sizeof one) == sizeof one);
  }
  thread_.join();
  ::close(wake_fd_);
  wake_fd_ = -1;
  stopping_ = false;
  pending_.clear();
}

void Delays::loop() {
  for (;;) {
    std::vector<pollfd> polled{{wake_fd_, POLLIN, 0}};
    auto next = Clock::time_point::max();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      for (const Pending& pending : pending_) {
        next = std::min(next, pending.due);
        if (pending.cancel_fd >= 0) polled.push_back({pending.cancel_fd, POLLIN, 0});
      }
    }
    int wait_ms = -1;
    if (next != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
      wait_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 600'000));
    }
    ::poll(polled.data(), polled.size(), wait_ms);
    std::uint64_t drained = 0;
    static_cast<void>(::read(wake_fd_, &drained, sizeof drained));
    std::vector<int> readable;
    for (std::size_t i = 1; i < polled.size(); ++i)
      if (polled[i].revents != 0) readable.push_back(polled[i].fd);
    for (Pending& due : take_due(readable)) due.task();
  }
}

std::vector<Delays::Pending> Delays::take_due(const std::vector<int>& readable) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const auto waits = [&](const Pending& pending) {
    return pending.due > now &&
           std::find(readable.begin(), readable.end(), pending.cancel_fd) == readable.end();
  };
  const auto due = std::stable_partition(pending_.begin(), pending_.end(), waits);
  std::vector<Pending> out(std::make_move_iterator(due), std::make_move_iterator(pending_.end()));
  pending_.erase(due, pending_.end());
  return out;
}

}  // namespace berth::reference
