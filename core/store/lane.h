// Lane: one thread that works off a bounded queue of units and answers the coroutines that wait.
//
// Callers are coroutines on any executor; each is resumed on its own. What is queued while the
// thread works forms the next batch, so that one commit serves all of it, and a caller that is
// alone never waits for company. Answers of one batch reach an executor as one piece of work, and
// what the callers queue in turn while that piece runs wakes the thread once, at its end.
#ifndef BERTH_CORE_STORE_LANE_H_
#define BERTH_CORE_STORE_LANE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/store.h"

namespace berth::store {

// A unit of work with the coroutine that waits for its status.
class Pending {
 public:
  explicit Pending(UnitOfWork unit) : work(std::move(unit)) {}
  virtual ~Pending() = default;
  virtual void resume() = 0;  // on the waiting coroutine's executor
  virtual const boost::asio::any_io_executor& executor() const = 0;

  UnitOfWork work;
  Status status;
};

class Lane {
 public:
  using Batch = std::span<const std::unique_ptr<Pending>>;

  // `run` sets the status of every unit of a batch; `idle` is called after its answers are on their
  // way. Both run on the lane's thread and must not throw. `name` is for the error when the queue
  // is full.
  Lane(std::string name, std::size_t queue_max, std::size_t batch_max,
       std::function<void(Batch)> run, std::function<void()> idle);
  // Works off what is queued, then ends the thread.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  Task<Status> submit(UnitOfWork work);

  // Everything the thread and posted answers share; outlives the lane while answers are under way.
  struct Queue;

 private:
  void serve();

  std::shared_ptr<Queue> queue_;
  std::string name_;
  std::size_t batch_max_;
  std::function<void(Batch)> run_;
  std::function<void()> idle_;
  std::thread thread_;
};

}  // namespace berth::store

#endif  // BERTH_CORE_STORE_LANE_H_
