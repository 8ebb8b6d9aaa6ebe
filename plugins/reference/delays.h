// One thread that waits for scripted delays, cut short when an operation is cancelled.
//
// It is started by the first delay, so a provider without delays has no thread at all, and joined
// by `stop`. Tasks run on that thread. Any thread may add; stop is called once, when nothing is
// pending.
#ifndef BERTH_PLUGINS_REFERENCE_DELAYS_H_
#define BERTH_PLUGINS_REFERENCE_DELAYS_H_

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::reference {

class Delays {
 public:
  using Clock = std::chrono::steady_clock;

  Delays() = default;
  Delays(const Delays&) = delete;
  Delays& operator=(const Delays&) = delete;
  ~Delays() { stop(); }

  // Runs `task` after `delay`, or as soon as `cancel_fd` is readable; -1 when nothing cuts it
  // short.
  void add(std::chrono::milliseconds delay, int cancel_fd, std::function<void()> task);

  // True when there was never a delay, and so there is no thread.
  bool idle();

  // Drops what has not run and joins the thread. Not from a task.
  void stop();

 private:
  struct Pending {
    Clock::time_point due;
    int cancel_fd;
    std::function<void()> task;
  };

  void loop();
  std::vector<Pending> take_due(const std::vector<int>& readable);

  std::mutex mutex_;
  std::vector<Pending> pending_;
  bool stopping_ = false;
  int wake_fd_ = -1;
  std::thread thread_;
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_DELAYS_H_
