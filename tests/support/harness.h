// Harness: a world with hosts whose steps happen in order, for tests that tell one story.
#ifndef BERTH_TESTS_SUPPORT_HARNESS_H_
#define BERTH_TESTS_SUPPORT_HARNESS_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_host.h"

namespace berth::testing {

// Output that nobody reads, input that is empty.
class NoOutput : public OutputSink {
 public:
  Flow write(Stream, std::string_view) override { return Flow::kContinue; }
  void on_resume(std::function<void()>) override {}
};

// Counts what a store with threads of its own has yet to answer.
class CountingStore : public Store {
 public:
  explicit CountingStore(Store& inner) : inner_(inner) {}
  Task<Status> commit(UnitOfWork work) override;
  Task<Status> read(UnitOfWork work) override;
  int unanswered() const { return unanswered_; }

 private:
  Store& inner_;
  int unanswered_ = 0;
};

class Harness {
 public:
  // Another store than the one in memory, given by a test that is run over several.
  explicit Harness(Store* store = nullptr);

  // The newest host.
  TestHost& host() { return *hosts_.back(); }
  TestHost& host(std::size_t index) { return *hosts_[index]; }
  TestHost& start_host(std::string account = "account-a");
  // Its coroutines end where they are.
  void crash(std::size_t index) { hosts_[index].reset(); }

  // Steps until `done` holds. Fails the test when nothing is left to happen before that.
  bool step_until(const std::function<bool()>& done);
  // Steps while something can happen without time passing.
  void settle();

  template <class T>
  T run(TestHost& on, Task<T> task) {
    const std::shared_ptr<std::optional<T>> value = on.start(std::move(task));
    if (!step_until([&] { return value->has_value(); })) std::abort();
    return std::move(**value);
  }
  template <class T>
  T run(Task<T> task) {
    return run(host(), std::move(task));
  }

  // A call with a body that runs one command and returns `document`.
  static SandboxRequest request(std::string call = "call-a");
  static Body body(std::string document = "42");
  Task<CallEnd> call(std::string call_id = "call-a") {
    return with_sandbox(host().services, request(std::move(call_id)), body());
  }

  std::optional<Intent> intent(const std::string& name);
  std::optional<Receipt> receipt(const std::string& name);

  World world;
  MemoryRows rows;
  Cloud cloud;
  WorldHolders holders;

 private:
  bool step();

  std::optional<CountingStore> store_;
  std::vector<std::unique_ptr<TestHost>> hosts_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_SUPPORT_HARNESS_H_
