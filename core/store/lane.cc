#include "core/store/lane.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/halt_poll.h"

namespace berth::store {
namespace asio = boost::asio;

struct Lane::Queue {
  explicit Queue(std::size_t max) : units_max(max) {}

  const std::size_t units_max;
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<std::unique_ptr<Pending>> units;
  bool ending = false;
  // Set by wake(), so that a thread that has not gone to sleep yet sees it without the lock. Alone in
  // its cache line: whoever looks at it all the time would take the line from those who queue.
  alignas(64) std::atomic<bool> woken{false};

  void wake() {
    woken.store(true, std::memory_order_release);
    filled.notify_one();
  }
};

namespace {

// Units that are worth a batch of their own: with more, the writer works beside the event loop.
constexpr std::size_t kBatchWorthWaking = 32;

// Holds back wake-ups while the answers of one batch run on this thread, until a batch has come
// together.
class Cork {
 public:
  Cork() : outer_(current) { current = this; }
  Cork(const Cork&) = delete;
  Cork& operator=(const Cork&) = delete;
  ~Cork() {
    current = outer_;
    for (const auto& queue : fed_) queue->wake();
  }

  static void wake(const std::shared_ptr<Lane::Queue>& queue, std::size_t waiting) {
    if (current == nullptr || waiting == kBatchWorthWaking) {
      queue->wake();
    } else if (std::find(current->fed_.begin(), current->fed_.end(), queue) ==
               current->fed_.end()) {
      current->fed_.push_back(queue);
    }
  }

 private:
  static thread_local Cork* current;
  Cork* outer_;
  std::vector<std::shared_ptr<Lane::Queue>> fed_;
};
thread_local Cork* Cork::current = nullptr;

template <class Resumption>
class Waiting final : public Pending {
 public:
  Waiting(UnitOfWork unit, Resumption resumption)
      : Pending(std::move(unit)),
        executor_(asio::prefer(asio::any_io_executor(asio::get_associated_executor(resumption)),
                               asio::execution::outstanding_work.tracked)),
        resumption_(std::move(resumption)) {}

  void resume() override {
    // The coroutine may destroy everything around it once it runs.
    Resumption resumption(std::move(resumption_));
    std::move(resumption)(std::move(status));
  }
  const asio::any_io_executor& executor() const override { return executor_; }

 private:
  asio::any_io_executor executor_;  // keeps its event loop running until the answer is there
  Resumption resumption_;
};

// False when the queue is full or closed; the unit is then still the caller's.
bool push(const std::shared_ptr<Lane::Queue>& queue, std::unique_ptr<Pending>& unit) {
  std::size_t waiting = 0;
  {
    const std::lock_guard lock(queue->mutex);
    if (queue->ending || queue->units.size() >= queue->units_max) return false;
    queue->units.push_back(std::move(unit));
    waiting = queue->units.size();
  }
  Cork::wake(queue, waiting);
  return true;
}

void answer(std::vector<std::unique_ptr<Pending>> batch) {
  auto first = batch.begin();
  while (first != batch.end()) {
    const asio::any_io_executor executor = (*first)->executor();
    const auto last = std::find_if(first, batch.end(),
                                   [&](const auto& unit) { return unit->executor() != executor; });
    std::vector<std::unique_ptr<Pending>> part(std::make_move_iterator(first),
                                               std::make_move_iterator(last));
    first = last;
    asio::post(executor, [part = std::move(part)]() mutable {
      const Cork cork;
      for (auto& unit : part) {
        const std::unique_ptr<Pending> taken = std::move(unit);
        taken->resume();
      }
    });
  }
}

}  // namespace

Lane::Lane(std::string name, std::size_t queue_max, std::size_t batch_max,
           std::function<void(Batch)> run, std::function<void()> idle)
    : queue_(std::make_shared<Queue>(queue_max)),
      name_(std::move(name)),
      batch_max_(batch_max),
      run_(std::move(run)),
      idle_(std::move(idle)),
      thread_([this] { serve(); }) {}

Lane::~Lane() {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->ending = true;
  }
  queue_->wake();
  thread_.join();
}

void Lane::serve() {
  // Fifteen characters are what the kernel keeps.
  ::pthread_setname_np(::pthread_self(), name_.substr(name_.rfind(' ') + 1).substr(0, 15).c_str());
  HaltPoll patience;
  for (;;) {
    std::vector<std::unique_ptr<Pending>> batch;
    // Looked at before it is taken, so that looking leaves it where it is set.
    const bool awake = patience.ready_soon([this] {
      return queue_->woken.load(std::memory_order_relaxed) &&
             queue_->woken.exchange(false, std::memory_order_acquire);
    });
    {
      std::unique_lock lock(queue_->mutex);
      queue_->filled.wait(lock, [this] { return queue_->ending || !queue_->units.empty(); });
      if (!awake) patience.slept();
      if (queue_->units.empty()) return;
      const std::size_t count = std::min(queue_->units.size(), batch_max_);
      batch.reserve(count);
      for (std::size_t taken = 0; taken < count; ++taken) {
        batch.push_back(std::move(queue_->units.front()));
        queue_->units.pop_front();
      }
      if (!queue_->units.empty()) queue_->woken.store(true, std::memory_order_relaxed);
    }
    run_(batch);
    answer(std::move(batch));
    idle_();
  }
}

Task<Status> Lane::submit(UnitOfWork work) {
  const std::shared_ptr<Queue> queue = queue_;
  const std::string name = name_;
  auto start = [&queue, &name, &work](auto resumption) {
    std::unique_ptr<Pending> unit =
        std::make_unique<Waiting<decltype(resumption)>>(std::move(work), std::move(resumption));
    if (push(queue, unit)) return;
    unit->status = fail(ErrorKind::kLimit,
                        fmt::format("{} has {} units of work waiting, which is all it takes; run "
                                    "fewer calls at once",
                                    name, queue->units_max));
    const asio::any_io_executor executor = unit->executor();
    asio::post(executor, [unit = std::move(unit)] { unit->resume(); });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Status)>(
      start, asio::use_awaitable);
}

}  // namespace berth::store
