#include <unistd.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

struct Fences : Twin {
  static void say_fenced(berth_op op) {
    berth_lookup_result result{};
    result.struct_size = sizeof result;
    result.presence = BERTH_PRESENCE_ABSENT_FENCED;
    done(op, &result);
  }
};

// A fence does not hold off the create that is under way.
struct ForgetsWhatIsUnderWay : Fences {
  std::mutex mutex;
  std::map<berth_op, std::string> under_way;
  std::vector<std::thread> threads;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    {
      const std::lock_guard lock(mutex);
      under_way[op] = text(name);
    }
    threads.emplace_back([this, op, name, spec] {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      Twin::create(op, name, spec);
    });
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    {
      const std::lock_guard lock(mutex);
      under_way.erase(op);
    }
    Twin::op_complete(op, outcome);
  }
  void fence(berth_op op, berth_str name) override {
    bool missed = false;
    {
      const std::lock_guard lock(mutex);
      for (const auto& [create, other] : under_way) missed = missed || other == text(name);
    }
    if (missed) return say_fenced(op);
    Twin::fence(op, name);
  }
  void shutdown(berth_op op) override {
    for (std::thread& thread : threads) thread.join();
    Twin::shutdown(op);
  }
};

// Keeps fences of names that were never used in memory.
struct FencesInMemory : Fences {
  std::string entries;
  std::set<std::string> fenced;
  void open(berth_op op, const berth_open_spec* spec) override {
    entries = text(spec->state_dir) + "/entries/";
    Twin::open(op, spec);
  }
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    if (!fenced.contains(text(name))) return Twin::create(op, name, spec);
    ended(op, BERTH_REJECTED, BERTH_CODE_CONFLICT, "the name is fenced; use another");
  }
  void fence(berth_op op, berth_str name) override {
    if (::access((entries + text(name) + ".entry").c_str(), F_OK) == 0) return Twin::fence(op, name);
    fenced.insert(text(name));
    say_fenced(op);
  }
};

// Makes true what it shall find out: of a sandbox it knows it leaves nothing.
struct FenceEnds : Fences {
  std::set<std::string> known;
  std::set<berth_op> ending;
  void lookup(berth_op op, berth_str name) override {
    known.insert(text(name));
    Twin::lookup(op, name);
  }
  void fence(berth_op op, berth_str name) override {
    if (!known.contains(text(name))) return Twin::fence(op, name);
    ending.insert(op);
    Twin::destroy(op, name, {nullptr, 0});
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (ending.erase(op) != 0) return say_fenced(op);
    Twin::op_complete(op, outcome);
  }
};

}  // namespace

const Faults& fence_faults() {
  static const Faults* const all = new Faults{
      {"FENCE-001", &make<ForgetsWhatIsUnderWay>},
      {"FENCE-002", &make<FencesInMemory>},
      {"FENCE-003", &make<FenceEnds>},
  };
  return *all;
}

}  // namespace berth::broken
