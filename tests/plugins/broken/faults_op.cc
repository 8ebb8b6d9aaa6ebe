#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// The third probe is answered twice.
struct CompletesTwice : Twin {
  int probes = 0;
  void probe(berth_op op) override {
    Twin::probe(op);
    if (++probes == 3) ended(op, BERTH_REJECTED, BERTH_CODE_INTERNAL, "again");
  }
};

// What is not answered is answered at the very end, so that the end itself is in order.
struct HoldsBack : Twin {
  std::mutex mutex;
  std::vector<berth_op> held;
  void hold(berth_op op) {
    const std::lock_guard lock(mutex);
    held.push_back(op);
  }
  void shutdown(berth_op op) override {
    for (const berth_op one : held) ended(one, BERTH_UNCERTAIN, BERTH_CODE_TIMEOUT, "it was never answered");
    Twin::shutdown(op);
  }
};

// The second time that a name is not found is never answered.
struct NeverCompletes : HoldsBack {
  std::map<berth_op, std::string> lookups;
  std::map<std::string, int> absent;
  void lookup(berth_op op, berth_str name) override {
    lookups[op] = text(name);
    Twin::lookup(op, name);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    const auto found = lookups.find(op);
    if (found == lookups.end() || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    const auto* result = static_cast<const berth_lookup_result*>(outcome->result);
    if (result->presence != BERTH_PRESENCE_ABSENT_NOW || ++absent[found->second] != 2)
      return Twin::op_complete(op, outcome);
    hold(op);
  }
};

// Asks about a probe after it was completed.
struct AsksAfterwards : Twin {
  void probe(berth_op op) override {
    Twin::probe(op);
    host().op_cancelled(host().ctx, op);
  }
};

// Writes output once more after the end of a run.
struct WritesAfterwards : Twin {
  std::mutex mutex;
  std::set<berth_op> runs;
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    {
      const std::lock_guard lock(mutex);
      runs.insert(op);
    }
    Twin::run(op, ref, command);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    Twin::op_complete(op, outcome);
    const std::lock_guard lock(mutex);
    static constexpr std::uint8_t kLate[] = {'l', 'a', 't', 'e'};
    if (runs.erase(op) != 0) Twin::output(op, BERTH_STREAM_STDOUT, {kLate, sizeof kLate});
  }
};

struct Waits : Twin {
  void scope(berth_op op) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    Twin::scope(op);
  }
};

// Looks at the variables of a create once it is over.
struct LooksLater : Twin {
  std::size_t seen = 0;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    const bool three = spec->env.count == 3;  // as many as the case of this clause gives, and no other
    Twin::create(op, name, spec);
    if (three) seen += text(spec->env.items[0].key).size();
  }
};

struct TellsTheNameAsStage : Twin {
  std::string stage;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    stage = "Creating " + text(name);
    op_stage(op, text(stage));
    Twin::create(op, name, spec);
  }
};

// Drops the second create that comes when its time is over.
struct DropsLateOnes : HoldsBack {
  int late = 0;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    const std::uint64_t deadline = host().op_deadline(host().ctx, op);
    if (deadline > host().now(host().ctx) || ++late != 2) return Twin::create(op, name, spec);
    hold(op);
  }
};

}  // namespace

const Faults& op_faults() {
  static const Faults* const all = new Faults{
      {"OP-001", &make<AsksAfterwards>},       {"OP-001/writes", &make<WritesAfterwards>},
      {"OP-002", &make<CompletesTwice>},       {"OP-002/never", &make<NeverCompletes>},
      {"OP-003", &make<Waits>},                {"OP-004", &make<LooksLater>},
      {"OP-005", &make<TellsTheNameAsStage>},  {"OP-006", &make<DropsLateOnes>},
  };
  return *all;
}

}  // namespace berth::broken
