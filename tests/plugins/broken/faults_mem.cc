// MEM and ERR.
#include <stdexcept>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// The fourth probe's answer is changed.
struct FourthProbe : Twin {
  int probes = 0;
  berth_op fourth = 0;
  void probe(berth_op op) override {
    if (++probes == 4) fourth = op;
    Twin::probe(op);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (op != fourth) return Twin::op_complete(op, outcome);
    berth_probe_result result = *static_cast<const berth_probe_result*>(outcome->result);
    berth_outcome changed = *outcome;
    changed.result = &result;
    change(changed, result);
    Twin::op_complete(op, &changed);
  }
  virtual void change(berth_outcome& outcome, berth_probe_result& result) = 0;
};

struct LengthAlone : FourthProbe {
  void change(berth_outcome&, berth_probe_result& result) override { result.backend = {nullptr, 5}; }
};

// The second of two elements is larger than the first says.
struct UnevenElements : FourthProbe {
  void change(berth_outcome&, berth_probe_result& result) override {
    static berth_probe_item items[2];
    for (berth_probe_item& item : items) {
      item.struct_size = sizeof item;
      item.ok = 1;
      item.name = text("part");
    }
    items[1].struct_size = sizeof(berth_probe_item) + 8;
    result.items = items;
    result.item_count = 2;
  }
};

struct UsesReserved : FourthProbe {
  void change(berth_outcome& outcome, berth_probe_result&) override { outcome.reserved = 1; }
};

struct HasNul : FourthProbe {
  void change(berth_outcome&, berth_probe_result& result) override { result.backend = {"two\0words", 9}; }
};

struct TooLong : FourthProbe {
  std::string long_text = std::string(5000, 'x');
  void change(berth_outcome&, berth_probe_result& result) override { result.backend = text(long_text); }
};

struct Throws : Twin {
  int probes = 0;
  void probe(berth_op op) override {
    if (++probes == 4) throw std::runtime_error("thrown across the boundary");
    Twin::probe(op);
  }
};

// Catches whatever comes out of a task, also what must go on.
struct Swallows : Twin {
  struct Task {
    berth_task_fn run;
    void* user;
  };
  std::uint32_t post_blocking(berth_task_fn task, void* user) override {
    const auto run = [](void* from) {
      const std::unique_ptr<Task> own(static_cast<Task*>(from));
      try {
        own->run(own->user);
      } catch (...) {  // "nothing may come out of here"
      }
    };
    auto own = std::make_unique<Task>(Task{task, user});
    if (Twin::post_blocking(run, own.get()) == 0) return 0;
    static_cast<void>(own.release());
    return 1;
  }
};

// Tells the operator with which key it was not found.
struct TellsSecret : Twin {
  void get_file(berth_op op, berth_str ref, const berth_get_file_spec* spec) override {
    std::string key;
    const auto take = [](void* into, const char* ptr, std::uint64_t len) {
      static_cast<std::string*>(into)->assign(ptr, len);
    };
    host().secret_get(host().ctx, text("BERTH_BROKEN_SECRET"), take, &key);
    const std::string line = "get_file with key " + key;
    host().log(host().ctx, BERTH_LOG_INFO, text(line));
    Twin::get_file(op, ref, spec);
  }
};

// A network it does not know is the one it has.
struct GuessesNetwork : Twin {
  void create(berth_op op, berth_str name, const berth_create_spec* from) override {
    berth_create_spec spec = *from;
    if (spec.network > BERTH_NETWORK_OPEN) spec.network = BERTH_NETWORK_NONE;
    Twin::create(op, name, &spec);
  }
};

}  // namespace

const Faults& mem_faults() {
  static const Faults* const all = new Faults{
      {"MEM-001", &make<LengthAlone>}, {"MEM-003", &make<UnevenElements>}, {"MEM-004", &make<UsesReserved>},
      {"MEM-005", &make<HasNul>},      {"MEM-006", &make<TooLong>},        {"ERR-001", &make<Throws>},
      {"ERR-002", &make<Swallows>},    {"ERR-003", &make<TellsSecret>},    {"ERR-004", &make<GuessesNetwork>},
  };
  return *all;
}

}  // namespace berth::broken
