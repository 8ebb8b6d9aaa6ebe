// SPDX-License-Identifier: Apache-2.0
//
// The threads the fake host lends. Started when first needed, joined at the end.
#ifndef BERTH_TESTING_LENT_THREADS_HPP
#define BERTH_TESTING_LENT_THREADS_HPP

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace berth::testing::detail {

class LentThreads {
 public:
  explicit LentThreads(std::size_t count_max) : count_max_(count_max) {}
  LentThreads(const LentThreads&) = delete;
  LentThreads& operator=(const LentThreads&) = delete;
  ~LentThreads() { stop(); }

  bool post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size() && threads_.size() < count_max_)
      threads_.emplace_back([this] { loop(); });
    changed_.notify_one();
    return true;
  }

  // Refuses new tasks, runs those it has, and joins. Not from a lent thread.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const std::size_t count_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::testing::detail

#endif  // BERTH_TESTING_LENT_THREADS_HPP
