// Signal: coroutines that wait until someone says go. One event loop; not thread-safe.
#ifndef BERTH_CORE_LIFECYCLE_SIGNAL_H_
#define BERTH_CORE_LIFECYCLE_SIGNAL_H_

#include <memory>
#include <vector>

#include "core/base/task.h"

namespace berth {

class Signal {
 public:
  Signal();
  ~Signal();  // those who still wait are destroyed with their coroutines
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  // Returns after the next notify; a waiter looks again at what it waits for.
  Task<void> wait();
  // Wakes everyone who waits now. They run later, from the loop.
  void notify();

 private:
  struct Waiter;
  template <class Handler>
  struct WaiterOf;
  std::vector<std::unique_ptr<Waiter>> waiters_;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_SIGNAL_H_
