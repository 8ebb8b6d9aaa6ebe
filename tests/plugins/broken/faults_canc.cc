#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

constexpr std::chrono::milliseconds kPause{2};

struct Cancels : Twin {
  static bool is_late(berth_op op) {
    const std::uint64_t deadline = host().op_deadline(host().ctx, op);
    return deadline <= host().now(host().ctx);
  }
  static bool is_cancelled(berth_op op) { return host().op_cancelled(host().ctx, op) != 0 && !is_late(op); }
};

// Gives up waiting for a program that is cancelled, and lets it run. The lock is held across calls of the
// host, so that none comes for an operation that was just completed.
struct AbandonsPrograms : Cancels {
  std::mutex mutex;
  std::set<berth_op> runs;
  std::set<berth_op> abandoned;
  bool over = false;
  std::vector<std::thread> watchers;

  void run(berth_op op, berth_str ref, const berth_command* command) override {
    {
      const std::lock_guard lock(mutex);
      runs.insert(op);
    }
    watchers.emplace_back([this, op] {
      while (watch(op)) std::this_thread::sleep_for(kPause);
    });
    Twin::run(op, ref, command);
  }
  bool watch(berth_op op) {
    const std::lock_guard lock(mutex);
    if (over || !runs.contains(op)) return false;
    if (!is_cancelled(op)) return true;
    runs.erase(op);
    abandoned.insert(op);
    ended(op, BERTH_UNCERTAIN, BERTH_CODE_CANCELLED, "nobody waits for it any more");
    return false;
  }
  std::uint32_t op_cancelled(berth_op op) override {
    const std::lock_guard lock(mutex);
    if (abandoned.contains(op)) return 0;
    return runs.contains(op) && !is_late(op) ? 0 : Twin::op_cancelled(op);
  }
  std::int32_t op_cancel_fd(berth_op op) override {
    const std::lock_guard lock(mutex);
    return abandoned.contains(op) || runs.contains(op) ? -1 : Twin::op_cancel_fd(op);
  }
  berth_flow output(berth_op op, berth_stream stream, berth_bytes bytes) override {
    const std::lock_guard lock(mutex);
    return abandoned.contains(op) ? BERTH_OUTPUT_ACCEPTED : Twin::output(op, stream, bytes);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    const std::lock_guard lock(mutex);
    if (abandoned.erase(op) != 0) return;
    runs.erase(op);
    Twin::op_complete(op, outcome);
  }
  void shutdown(berth_op op) override {
    {
      const std::lock_guard lock(mutex);
      over = true;
    }
    for (std::thread& watcher : watchers) watcher.join();
    Twin::shutdown(op);
  }
};

// Makes what was cancelled, and says that it was not made.
struct DeniesCancelled : Cancels {
  std::mutex mutex;
  std::set<berth_op> denied;
  std::vector<std::thread> threads;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    threads.emplace_back([this, op, name, spec] {
      for (int round = 0; round < 12 && !is_late(op); ++round) {
        if (is_cancelled(op)) {
          const std::lock_guard lock(mutex);
          denied.insert(op);
          break;
        }
        std::this_thread::sleep_for(kPause);
      }
      Twin::create(op, name, spec);
    });
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    {
      const std::lock_guard lock(mutex);
      if (denied.erase(op) != 0) return ended(op, BERTH_REJECTED, BERTH_CODE_CANCELLED, "cancelled; try again");
    }
    Twin::op_complete(op, outcome);
  }
  void shutdown(berth_op op) override {
    for (std::thread& thread : threads) thread.join();
    Twin::shutdown(op);
  }
};

// A put_file that is cancelled before anything came is answered at the very end.
struct NeverEndsCancelled : Cancels {
  std::mutex mutex;
  std::set<berth_op> empty;
  std::vector<berth_op> held;
  void put_file(berth_op op, berth_str ref, const berth_put_file_spec* spec) override {
    {
      const std::lock_guard lock(mutex);
      empty.insert(op);
    }
    Twin::put_file(op, ref, spec);
  }
  berth_input_status input(berth_op op, std::uint8_t* buffer, std::uint64_t capacity, std::uint64_t* got) override {
    const berth_input_status status = Twin::input(op, buffer, capacity, got);
    const std::lock_guard lock(mutex);
    if (status == BERTH_INPUT_DATA) empty.erase(op);
    return status;
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    {
      const std::lock_guard lock(mutex);
      if (empty.erase(op) != 0 && is_cancelled(op)) return held.push_back(op);
    }
    Twin::op_complete(op, outcome);
  }
  void shutdown(berth_op op) override {
    for (const berth_op one : held) ended(one, BERTH_UNCERTAIN, BERTH_CODE_CANCELLED, "it was never answered");
    Twin::shutdown(op);
  }
};

// Knows cancellations, but no deadlines, where programs run.
struct KnowsNoDeadline : Cancels {
  std::mutex mutex;
  std::set<berth_op> runs;
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    {
      const std::lock_guard lock(mutex);
      runs.insert(op);
    }
    Twin::run(op, ref, command);
  }
  bool is_run(berth_op op) {
    const std::lock_guard lock(mutex);
    return runs.contains(op);
  }
  std::uint32_t op_cancelled(berth_op op) override {
    return is_run(op) ? is_cancelled(op) : Twin::op_cancelled(op);
  }
  std::int32_t op_cancel_fd(berth_op op) override { return is_run(op) ? -1 : Twin::op_cancel_fd(op); }
};

}  // namespace

const Faults& canc_faults() {
  static const Faults* const all = new Faults{
      {"CANC-001", &make<AbandonsPrograms>},
      {"CANC-002", &make<DeniesCancelled>},
      {"CANC-003", &make<NeverEndsCancelled>},
      {"CANC-004", &make<KnowsNoDeadline>},
  };
  return *all;
}

}  // namespace berth::broken
