#include "core/lifecycle/clock.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

namespace berth {
namespace {

// Shared by the alarm and its sleep, which may end in either order.
struct Watch {
  std::function<void()> ring;
  Cancellation ended;
};

class SleepingAlarm final : public Alarm {
 public:
  explicit SleepingAlarm(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}
  ~SleepingAlarm() override { watch_->ended.request(Cancellation::Reason::kShutdown); }

 private:
  std::shared_ptr<Watch> watch_;
};

Task<void> sleep_and_ring(Clock& clock, Instant when, std::shared_ptr<Watch> watch) {
  co_await clock.sleep_until(when, &watch->ended);
  if (!watch->ended.requested()) watch->ring();
}

}  // namespace

std::unique_ptr<Alarm> Clock::alarm(boost::asio::any_io_executor executor, Instant when,
                                    std::function<void()> ring) {
  auto watch = std::make_shared<Watch>();
  watch->ring = std::move(ring);
  boost::asio::co_spawn(executor, sleep_and_ring(*this, when, watch), boost::asio::detached);
  return std::make_unique<SleepingAlarm>(std::move(watch));
}

}  // namespace berth
