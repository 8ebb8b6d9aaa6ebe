// SHUT, LEAK, USE and EXT.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <vector>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Does not wait for a file that is on its way.
struct ShutsEarly : Twin {
  Watched files;
  void put_file(berth_op op, berth_str ref, const berth_put_file_spec* spec) override {
    files.insert(op);
    Twin::put_file(op, ref, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    files.erase(op);
    Twin::op_complete(op, outcome);
  }
  void shutdown(berth_op op) override {
    if (files.empty()) return Twin::shutdown(op);
    done(op);
  }
};

// Cleans up behind itself: the one sandbox it has made goes with it. Several it leaves.
struct ShutsSandboxes : Twin {
  static constexpr berth_op kOwn = ~0ull;
  std::set<std::string> made;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    made.insert(text(name));
    Twin::create(op, name, spec);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (op != kOwn) Twin::op_complete(op, outcome);
  }
  void shutdown(berth_op op) override {
    if (made.size() == 1) inner().destroy(self(), kOwn, text(*made.begin()), {});
    Twin::shutdown(op);
  }
};

struct LeaksDescriptor : Twin {
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Twin::create(op, name, spec);
  }
};

struct OpenOnExec : Twin {
  std::vector<int> descriptors;
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    descriptors.push_back(::open("/dev/null", O_RDONLY));
    Twin::create(op, name, spec);
  }
  void shutdown(berth_op op) override {
    for (const int fd : descriptors) ::close(fd);
    Twin::shutdown(op);
  }
};

// Says what is left instead of what was used.
struct CountsBackwards : Twin {
  Watched runs;
  std::atomic<std::uint64_t> left_ns = 3'600'000'000'000;
  void run(berth_op op, berth_str ref, const berth_command* command) override {
    runs.insert(op);
    Twin::run(op, ref, command);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (!runs.erase(op) || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_run_result result = *static_cast<const berth_run_result*>(outcome->result);
    berth_usage usage{};
    usage.struct_size = sizeof usage;
    usage.epoch = 1;
    usage.wall_ns = left_ns -= 1'000'000'000;
    usage.cpu_ns = usage.memory_peak_bytes = usage.network_egress_bytes = usage.cost_micro_usd =
        BERTH_USAGE_UNKNOWN;
    result.usage = &usage;
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

// Looks at the beginning of an id only.
struct AnswersAlmost : Twin {
  const void* get_extension(berth_str id) override {
    static constexpr std::uint32_t kAlmostTable[2] = {sizeof kAlmostTable, 0};
    return text(id).starts_with("berth.files/1x") ? kAlmostTable : Twin::get_extension(id);
  }
};

}  // namespace

const Faults& shut_faults() {
  static const Faults* const all = new Faults{
      {"SHUT-001", &make<ShutsEarly>},     {"SHUT-002", &make<ShutsSandboxes>},
      {"LEAK-001", &make<LeaksDescriptor>}, {"LEAK-002", &make<OpenOnExec>},
      {"USE-001", &make<CountsBackwards>},  {"EXT-001", &make<AnswersAlmost>},
  };
  return *all;
}

}  // namespace berth::broken
