#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// A second create of a name makes another sandbox beside the first.
struct SecondSandbox : Twin {
  std::map<std::string, int> creates;
  std::string other;  // lives until its operation is complete
  void create(berth_op op, berth_str name, const berth_create_spec* spec) override {
    if (++creates[text(name)] == 1) return Twin::create(op, name, spec);
    other = text(name).substr(0, 60) + "-b";
    Twin::create(op, text(other), spec);
  }
};

}  // namespace

const Faults& key_faults() {
  static const Faults* const all = new Faults{
      {"KEY-001", &make<SecondSandbox>},
  };
  return *all;
}

}  // namespace berth::broken
