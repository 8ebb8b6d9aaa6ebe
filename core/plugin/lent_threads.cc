#include "core/plugin/lent_threads.h"

#include <cxxabi.h>

namespace berth::plugin {

bool LentThreads::post(berth_task_fn task, void* user) {
  const std::lock_guard lock(mutex_);
  if (closing_ || task == nullptr || waiting_.size() >= kWaitingMax) return false;
  waiting_.push_back({task, user});
  posted_.fetch_add(1, std::memory_order_release);
  if (looking_ && waiting_.size() == 1) {
    // A thread is awake for it.
  } else if (idle_ >= waiting_.size()) {
    wake_.notify_one();
  } else if (threads_.size() < threads_max_) {
    threads_.emplace_back([this] { work(); });
  }
  return true;
}

// Of the idle threads one looks for the next task before it sleeps: the last that was at work.
void LentThreads::wait(std::unique_lock<std::mutex>& lock) {
  const bool looks = !looking_;
  if (looks) {
    looking_ = true;
    const std::uint64_t seen = posted_.load(std::memory_order_relaxed);
    lock.unlock();
    patience_.ready_soon([&] { return posted_.load(std::memory_order_acquire) != seen; });
    lock.lock();
    looking_ = false;
  }
  if (closing_ || !waiting_.empty()) return;
  wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
  if (looks && !looking_) patience_.slept();
}

void LentThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (waiting_.empty()) {
      if (closing_) return;
      ++idle_;
      wait(lock);
      --idle_;
      continue;
    }
    const Task task = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    try {
      task.run(task.user);
    } catch (abi::__forced_unwind&) {
      throw;  // a thread being cancelled must not be stopped from it
    } catch (...) {
      on_throw_();
    }
    lock.lock();
  }
}

void LentThreads::close() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    posted_.fetch_add(1, std::memory_order_release);
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

std::size_t LentThreads::busy() {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + threads_.size() - idle_;
}

}  // namespace berth::plugin
