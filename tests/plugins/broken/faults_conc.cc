#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Knows which runs are open, and in which sandbox.
struct CountsRuns : Twin {
  std::mutex mutex;
  std::map<berth_op, std::string> runs;
  std::deque<std::pair<std::string, std::function<void()>>> held_back;

  void note(berth_op op, berth_str ref) {
    const std::lock_guard lock(mutex);
    runs[op] = text(ref);
  }
  bool open_in(const std::string& ref, bool here) {
    const std::lock_guard lock(mutex);
    for (const auto& [op, other] : runs)
      if ((other == ref) == here) return true;
    return false;
  }
  void hold_back(const std::string& ref, std::function<void()> start) {
    const std::lock_guard lock(mutex);
    held_back.emplace_back(ref, std::move(start));
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    Twin::op_complete(op, outcome);
    std::function<void()> next;
    {
      const std::lock_guard lock(mutex);
      if (runs.erase(op) == 0 || held_back.empty()) return;
      next = std::move(held_back.front().second);
      held_back.pop_front();
    }
    next();
  }
};

// No more than three sandboxes are used at once, whatever the manifest says.
struct ThreeAtOnce : CountsRuns {
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    {
      const std::lock_guard lock(mutex);
      std::map<std::string, int> used;
      for (const auto& [other, where] : runs) ++used[where];
      if (!used.contains(text(ref)) && used.size() >= 3)
        return ended(op, BERTH_REJECTED, BERTH_CODE_RATE_LIMITED, "three sandboxes are busy; try again");
    }
    note(op, ref);
    Twin::run(op, ref, command);
  }
};

// A file waits for the programs of all other sandboxes.
struct FilesWait : CountsRuns {
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    note(op, ref);
    Twin::run(op, ref, command);
  }
  void put_file(berth_op op, berth_str ref, const berth_put_file_spec* spec) override {
    if (!open_in(text(ref), false)) return Twin::put_file(op, ref, spec);
    hold_back(text(ref), [this, op, ref, spec] { Twin::put_file(op, ref, spec); });
  }
};

struct LeavesThread : Twin {
  void open(berth_op op, const berth_open_spec* spec) override {
    std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
    Twin::open(op, spec);
  }
};

// One program at a time in a sandbox, whatever the manifest says.
struct OneInSandbox : CountsRuns {
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    if (open_in(text(ref), true))
      return hold_back(text(ref), [this, op, ref, command] {
        note(op, ref);
        Twin::run(op, ref, command);
      });
    note(op, ref);
    Twin::run(op, ref, command);
  }
};

}  // namespace

const Faults& conc_faults() {
  static const Faults* const all = new Faults{
      {"CONC-001", &make<ThreeAtOnce>},
      {"CONC-002", &make<FilesWait>},
      {"CONC-003", &make<LeavesThread>},
      {"CONC-004", &make<OneInSandbox>},
  };
  return *all;
}

}  // namespace berth::broken
