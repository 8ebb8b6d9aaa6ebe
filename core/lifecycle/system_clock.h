// SystemClock: the machine's own time, on an Asio loop.
#ifndef BERTH_CORE_LIFECYCLE_SYSTEM_CLOCK_H_
#define BERTH_CORE_LIFECYCLE_SYSTEM_CLOCK_H_

#include "core/lifecycle/clock.h"

namespace berth {

// Stateless. A sleep belongs to the loop of the coroutine that asks for it, one thread; all alarms of
// a loop share one timer.
class SystemClock : public Clock {
 public:
  Instant now() const override;
  WallTime wall_now() const override;
  Task<void> sleep_until(Instant when, Cancellation* cancellation) override;
  std::unique_ptr<Alarm> alarm(boost::asio::any_io_executor executor, Instant when,
                               std::function<void()> ring) override;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_SYSTEM_CLOCK_H_
