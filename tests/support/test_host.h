// TestHost: one host of a world: its event loop, its connection to the shared store, its provider.
// Destroying it is the host's crash: its coroutines end where they are.
#ifndef BERTH_TESTS_SUPPORT_TEST_HOST_H_
#define BERTH_TESTS_SUPPORT_TEST_HOST_H_

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  void leave_word(std::string_view name, std::string_view word) override {
    words.insert_or_assign(std::string(name), std::string(word));
  }
  std::optional<std::string> left_word(std::string_view name) const override {
    const auto found = words.find(name);
    return found == words.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::string> intents_with_words() const override {
    std::vector<std::string> names;
    for (const auto& [name, word] : words) names.push_back(name);
    return names;
  }
  void drop_word(std::string_view name) override {
    if (const auto found = words.find(name); found != words.end()) words.erase(found);
  }
  std::set<std::string> living;
  std::map<std::string, std::string, std::less<>> words;
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
