// HaltPoll: how long a thread looks again before it sleeps.
//
// Waking a thread on an idle processor costs tens of microseconds, most of it in a virtual machine
// (20-50 us where Berth was measured), which is more than many of the things waited for take. So a
// thread that was lately woken soon looks again for a moment first; one whose waits are long does
// not look at all. The rule is that of Linux's haltpoll governor for idle processors
// (Documentation/virt/guest-halt-polling.rst): nothing at first, from 50 us doubling up to a bound
// while waits end within that, halved with each wait that does not. The bound is 400 us, twice the
// kernel's default, so that a commit to a common disk (100-250 us) is within it.
//
// One thread at a time. A machine of one processor never looks: what is waited for needs it.
#ifndef BERTH_CORE_BASE_HALT_POLL_H_
#define BERTH_CORE_BASE_HALT_POLL_H_

#include <algorithm>
#include <thread>

#include "core/base/time.h"

namespace berth {

class HaltPoll {
 public:
  // Asks `ready()` until it says yes, at least once; false when the moment is over and the thread
  // should sleep.
  template <class Ready>
  bool ready_soon(Ready ready) {
    begun_ = std::chrono::steady_clock::now();
    do {
      if (ready()) return true;
      // Whoever else wants this processor has it meanwhile.
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() - begun_ < moment_);
    return false;
  }

  // After the sleep that followed.
  void slept() {
    const Duration waited = std::chrono::steady_clock::now() - begun_;
    if (waited > kMax)
      moment_ /= 2;
    else if (waited > moment_ && std::thread::hardware_concurrency() > 1)
      moment_ = std::clamp<Duration>(moment_ * 2, kStart, kMax);
  }

  Duration moment() const { return moment_; }

 private:
  static constexpr Duration kStart = std::chrono::microseconds(50);
  static constexpr Duration kMax = std::chrono::microseconds(400);

  Instant begun_;
  Duration moment_{0};
};

}  // namespace berth

#endif  // BERTH_CORE_BASE_HALT_POLL_H_
