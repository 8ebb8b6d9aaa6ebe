// TestHost: one host of a world: its event loop, its connection to the shared store, its provider.
// Destroying it is the host's crash: its coroutines end where they are.
#ifndef BERTH_TESTS_SUPPORT_TEST_HOST_H_
#define BERTH_TESTS_SUPPORT_TEST_HOST_H_

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/accounting/credits.h"
#include "core/lifecycle/with_sandbox.h"
#include "tests/support/memory_store.h"
#include "tests/support/model_provider.h"
#include "tests/support/world.h"

namespace berth::testing {

// Knows which hosts of a world live. A host's lock path is its name.
class WorldHolders : public HolderProbe {
 public:
  bool is_dead(const Holder& holder) override { return !living.contains(holder.lock_path); }
  std::set<std::string> living;
};

class TestHost {
 public:
  // `id` must be new in its world. `store` replaces the memory store when given.
  TestHost(World& world, MemoryRows& rows, Cloud& cloud, WorldHolders& holders, int id, Scope scope,
           Store* store = nullptr);
  ~TestHost();
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;

  int id() const { return id_; }
  boost::asio::io_context& loop() { return *loop_; }
  // Runs what the loop has to run now.
  void poll();

  // Starts a task on the loop; its value is kept for the caller.
  template <class T>
  std::shared_ptr<std::optional<T>> start(Task<T> task);

 private:
  void spawn(Task<void> task);

  World& world_;
  WorldHolders& holders_;
  int id_;
  std::unique_ptr<boost::asio::io_context> loop_;

 public:
  Credits credits;
  WorldClock clock;
  MemoryStore memory_store;
  ModelProvider provider;
  LifecycleServices services;
};

template <class T>
std::shared_ptr<std::optional<T>> TestHost::start(Task<T> task) {
  auto value = std::make_shared<std::optional<T>>();
  spawn([](Task<T> awaited, std::shared_ptr<std::optional<T>> into) -> Task<void> {
    *into = co_await std::move(awaited);
  }(std::move(task), value));
  return value;
}

// A scope of the model provider.
Scope model_scope(std::string account);

}  // namespace berth::testing

#endif  // BERTH_TESTS_SUPPORT_TEST_HOST_H_
