// Time as the lifecycle sees it, so that a simulator can own it.
#ifndef BERTH_CORE_LIFECYCLE_CLOCK_H_
#define BERTH_CORE_LIFECYCLE_CLOCK_H_

#include "core/base/task.h"
#include "core/base/time.h"
#include "core/lifecycle/cancellation.h"

namespace berth {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;        // monotonic
  virtual WallTime wall_now() const = 0;  // may jump

  // Returns at `when`, or earlier when `cancellation` (may be null) rises.
  virtual Task<void> sleep_until(Instant when, Cancellation* cancellation) = 0;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_CLOCK_H_
