// Time as the lifecycle sees it, so that a simulator can own it.
#ifndef BERTH_CORE_LIFECYCLE_CLOCK_H_
#define BERTH_CORE_LIFECYCLE_CLOCK_H_

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "core/base/task.h"
#include "core/base/time.h"
#include "core/lifecycle/cancellation.h"

namespace berth {

// Rings once, unless it is destroyed before. It belongs to the thread of the loop it was set on, and
// may be destroyed while it rings.
class Alarm {
 public:
  Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  virtual ~Alarm() = default;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;        // monotonic
  virtual WallTime wall_now() const = 0;  // may jump

  // Returns at `when`, or earlier when `cancellation` (may be null) rises.
  virtual Task<void> sleep_until(Instant when, Cancellation* cancellation) = 0;

  // Calls `ring` at `when` from the executor's loop, never from inside this call. A clock may do it
  // for less than the sleep that this default spawns for each.
  virtual std::unique_ptr<Alarm> alarm(boost::asio::any_io_executor executor, Instant when,
                                       std::function<void()> ring);
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_CLOCK_H_
