#include "core/lifecycle/system_clock.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace berth {
namespace {

// All alarms of one loop. Its timer is armed for the first; most are destroyed long before they
// ring, so the timer may go off early and is then armed again.
class AlarmQueue : public boost::asio::execution_context::service {
 public:
  using key_type = AlarmQueue;
  static boost::asio::execution_context::id id;
  using Place = std::pair<Instant, std::uint64_t>;

  explicit AlarmQueue(boost::asio::execution_context& context) : service(context) {}

  Place add(const boost::asio::any_io_executor& executor, Instant when, std::function<void()> ring) {
    if (!timer_) timer_.emplace(executor);
    const Place place(when, ++last_);
    alarms_.emplace(place, std::move(ring));
    arm();
    return place;
  }
  void remove(const Place& place) {
    alarms_.erase(place);
    // A timer keeps the loop running.
    if (alarms_.empty() && timer_ && armed_ != Instant::max()) {
      armed_ = Instant::max();
      timer_->cancel();
    }
  }

 private:
  void arm() {
    if (alarms_.empty() || alarms_.begin()->first.first >= armed_) return;
    armed_ = alarms_.begin()->first.first;
    timer_->expires_at(armed_);
    timer_->async_wait([this](const boost::system::error_code& error) {
      if (!error) ring_due();
    });
  }
  void ring_due() {
    armed_ = Instant::max();
    const Instant now = std::chrono::steady_clock::now();
    // One by one: what rings may add and remove others.
    while (!alarms_.empty() && alarms_.begin()->first.first <= now) {
      const std::function<void()> ring = std::move(alarms_.begin()->second);
      alarms_.erase(alarms_.begin());
      ring();
    }
    arm();
  }
  void shutdown() override {
    timer_.reset();
    alarms_.clear();
  }

  std::map<Place, std::function<void()>> alarms_;
  std::optional<boost::asio::steady_timer> timer_;
  Instant armed_ = Instant::max();
  std::uint64_t last_ = 0;
};
boost::asio::execution_context::id AlarmQueue::id;

class QueuedAlarm final : public Alarm {
 public:
  QueuedAlarm(AlarmQueue& queue, AlarmQueue::Place place) : queue_(queue), place_(place) {}
  ~QueuedAlarm() override { queue_.remove(place_); }

 private:
  AlarmQueue& queue_;
  AlarmQueue::Place place_;
};

}  // namespace

Instant SystemClock::now() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::wall_now() const {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

Task<void> SystemClock::sleep_until(Instant when, Cancellation* cancellation) {
  const auto executor = co_await boost::asio::this_coro::executor;
  // Shared with the subscription, which may be called while the timer's own end is under way.
  const auto timer = std::make_shared<boost::asio::steady_timer>(executor);
  timer->expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(when));
  Cancellation::Subscription subscription;
  if (cancellation != nullptr) {
    if (cancellation->requested()) co_return;
    subscription = cancellation->subscribe([timer] { timer->cancel(); });
  }
  boost::system::error_code ignored;  // cancelled or due: both are the end of the sleep
  co_await timer->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

std::unique_ptr<Alarm> SystemClock::alarm(boost::asio::any_io_executor executor, Instant when,
                                          std::function<void()> ring) {
  auto& queue = boost::asio::use_service<AlarmQueue>(
      boost::asio::query(executor, boost::asio::execution::context));
  return std::make_unique<QueuedAlarm>(queue, queue.add(executor, when, std::move(ring)));
}

}  // namespace berth
