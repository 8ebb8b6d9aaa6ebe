#include "tests/support/harness.h"

#include <chrono>
#include <thread>

namespace berth::testing {
namespace {

// Generous: a step is a commit, an answer or a timer, and stories have a few dozen.
constexpr int kStepsMax = 100'000;

}  // namespace

Task<Status> CountingStore::commit(UnitOfWork work) {
  unanswered_ += 1;
  Status status = co_await inner_.commit(std::move(work));
  unanswered_ -= 1;
  co_return status;
}

Task<Status> CountingStore::read(UnitOfWork work) {
  unanswered_ += 1;
  Status status = co_await inner_.read(std::move(work));
  unanswered_ -= 1;
  co_return status;
}

Harness::Harness(Store* store) {
  if (store != nullptr) store_.emplace(*store);
  start_host();
}

TestHost& Harness::start_host(std::string account) {
  const int id = static_cast<int>(hosts_.size());
  hosts_.push_back(std::make_unique<TestHost>(world, rows, cloud, holders, id,
                                              model_scope(std::move(account)),
                                              store_ ? &*store_ : nullptr));
  return *hosts_.back();
}

bool Harness::step() {
  bool ran = false;
  for (const auto& host : hosts_) {
    if (host == nullptr) continue;
    host->loop().restart();
    ran = host->loop().poll() > 0 || ran;
  }
  if (ran) return true;
  if (world.ready_count() > 0) {
    world.fire_ready(0);
    return true;
  }
  // A store with threads of its own answers in real time, not in the world's.
  if (store_ && store_->unanswered() > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return true;
  }
  return world.fire_timer().has_value();
}

bool Harness::step_until(const std::function<bool()>& done) {
  for (int i = 0; i < kStepsMax; ++i) {
    if (done()) return true;
    if (!step()) break;
  }
  ADD_FAILURE() << "nothing is left to happen, and what was waited for has not happened";
  return false;
}

void Harness::settle() {
  for (int i = 0; i < kStepsMax; ++i) {
    for (const auto& host : hosts_) {
      if (host != nullptr) host->poll();
    }
    if (world.ready_count() == 0) return;
    world.fire_ready(0);
  }
}

SandboxRequest Harness::request(std::string call) {
  SandboxRequest made;
  made.key = {"alice", "session-a", std::move(call)};
  made.spec_canonical = "{\"code\":\"print(42)\"}";
  return made;
}

Body Harness::body(std::string document) {
  return [document](Sandbox& sandbox) -> Task<BodyResult> {
    NoOutput output;
    Command command;
    command.argv = {"python3", "main.py"};
    const Answer<RunEnd> answer = co_await sandbox.run(std::move(command), output);
    BodyResult result;
    if (!answer.outcome.done()) {
      result.message = "the command was lost";
      co_return result;
    }
    result.kind = BodyResult::Kind::kCompleted;
    result.document = document;
    result.run_end = answer.value;
    co_return result;
  };
}

std::optional<Intent> Harness::intent(const std::string& name) {
  auto found = std::make_shared<std::optional<Intent>>();
  const Status status =
      run(host().services.store.read([found, name](Transaction& transaction) -> Status {
        BERTH_TRY(*found, transaction.intent(name));
        return {};
      }));
  EXPECT_TRUE(status) << (status ? "" : status.error().message());
  return std::move(*found);
}

std::optional<Receipt> Harness::receipt(const std::string& name) {
  auto found = std::make_shared<std::optional<Receipt>>();
  const Status status =
      run(host().services.store.read([found, name](Transaction& transaction) -> Status {
        BERTH_TRY(*found, transaction.receipt(name));
        return {};
      }));
  EXPECT_TRUE(status) << (status ? "" : status.error().message());
  return std::move(*found);
}

}  // namespace berth::testing
