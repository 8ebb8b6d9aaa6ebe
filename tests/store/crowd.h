// Crowd: many callers of a store at once, on one loop in this thread, with the writer held still
// while they queue, so that a test decides what shares a commit.
#ifndef BERTH_TESTS_STORE_CROWD_H_
#define BERTH_TESTS_STORE_CROWD_H_

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/lifecycle/store.h"

namespace berth::test {

class Crowd {
 public:
  explicit Crowd(Store& store) : store_(store) {}

  // Queues a unit; its answer is answers()[index] after run.
  void add(UnitOfWork work) {
    answers_.push_back(std::nullopt);
    auto ask = [](Store& store, UnitOfWork unit, std::optional<Status>& out) -> Task<void> {
      out = co_await store.commit(std::move(unit));
    };
    tasks_.push_back([this, ask, work = std::move(work), index = answers_.size() - 1] {
      boost::asio::co_spawn(loop_, ask(store_, work, answers_[index]), boost::asio::detached);
    });
  }

  // All of it while one unit holds the writer; then lets go and waits for every answer.
  void run_together() {
    std::promise<void> held;
    std::promise<void> let_go;
    std::shared_future<void> wait_for = let_go.get_future().share();
    auto hold = [](Store& store, std::promise<void>& in,
                   std::shared_future<void> until) -> Task<void> {
      auto told = std::make_shared<bool>(false);
      UnitOfWork work = [&in, until, told](Transaction&) -> Status {
        if (!std::exchange(*told, true)) in.set_value();
        until.wait();
        return {};
      };
      (void)co_await store.commit(std::move(work));
    };
    boost::asio::co_spawn(loop_, hold(store_, held, wait_for), boost::asio::detached);
    loop_.poll();
    held.get_future().wait();
    for (const auto& task : tasks_) task();
    loop_.poll();
    let_go.set_value();
    loop_.restart();
    loop_.run();
  }

  const Status& answer(std::size_t index) const { return answers_[index].value(); }
  bool answered(std::size_t index) const { return answers_[index].has_value(); }

 private:
  Store& store_;
  boost::asio::io_context loop_{1};
  std::vector<std::optional<Status>> answers_;
  std::vector<std::function<void()>> tasks_;
};

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_CROWD_H_
