#include "core/plugin/lent_threads.h"

#include <cxxabi.h>

namespace berth::plugin {

bool LentThreads::post(berth_task_fn task, void* user) {
  const std::lock_guard lock(mutex_);
  if (closing_ || task == nullptr || waiting_.size() >= kWaitingMax) return false;
  waiting_.push_back({task, user});
  if (idle_ >= waiting_.size()) {
    wake_.notify_one();
  } else if (threads_.size() < threads_max_) {
    threads_.emplace_back([this] { work(); });
  }
  return true;
}

void LentThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (waiting_.empty()) {
      if (closing_) return;
      ++idle_;
      wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
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
