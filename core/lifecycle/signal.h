// Signal: coroutines that wait until someone says go. One event loop; not thread-safe.
#ifndef BERTH_CORE_LIFECYCLE_SIGNAL_H_
#define BERTH_CORE_LIFECYCLE_SIGNAL_H_

#include <vector>

#include "core/base/task.h"

namespace berth {

// Who waits belongs to the loop, so that a loop that is destroyed ends its coroutines, whatever
// they wait for.
class Signal {
 public:
  Signal();
  ~Signal();  // those who still wait end with their coroutines
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  // Returns after the next notify; a waiter looks again at what it waits for.
  Task<void> wait();
  // Wakes everyone who waits now. They run later, from the loop.
  void notify();

 private:
  class Loop;
  struct Waiter;
  template <class Handler>
  struct WaiterOf;
  std::vector<Waiter*> waiters_;  // owned by their loop
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_SIGNAL_H_
