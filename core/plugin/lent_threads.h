// The threads a host lends to a provider for work that blocks.
#ifndef BERTH_CORE_PLUGIN_LENT_THREADS_H_
#define BERTH_CORE_PLUGIN_LENT_THREADS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/halt_poll.h"
#include "sdk/include/berth/abi.h"

namespace berth::plugin {

// Starts threads as they are needed, up to a bound; further tasks wait in order. Thread-safe.
class LentThreads {
 public:
  // `on_throw` is called, on a lent thread, when a task lets an exception out.
  LentThreads(std::size_t threads_max, std::function<void()> on_throw)
      : threads_max_(threads_max), on_throw_(std::move(on_throw)) {}
  LentThreads(const LentThreads&) = delete;
  LentThreads& operator=(const LentThreads&) = delete;
  // Waits for the tasks that run; those that wait are run first.
  ~LentThreads() { close(); }

  // False once closing, or when more tasks wait than a provider may have open.
  bool post(berth_task_fn task, void* user);

  // No further task is taken; returns when none runs any more. Not from a lent thread.
  void close();

  // Tasks that run or wait.
  std::size_t busy();

 private:
  static constexpr std::size_t kWaitingMax = 16384;

  struct Task {
    berth_task_fn run;
    void* user;
  };
  void work();
  void wait(std::unique_lock<std::mutex>& lock);

  const std::size_t threads_max_;
  const std::function<void()> on_throw_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> waiting_;
  std::atomic<std::uint64_t> posted_{0};
  bool looking_ = false;
  HaltPoll patience_;  // of the thread that looks
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closing_ = false;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_LENT_THREADS_H_
