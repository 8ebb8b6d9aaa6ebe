#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Says that the sandbox is gone and does nothing.
struct DestroyLies : Twin {
  void destroy(berth_op op, berth_str, berth_str) override { done(op); }
};

}  // namespace

const Faults& clean_faults() {
  static const Faults* const all = new Faults{
      {"CLEAN-001", &make<DestroyLies>},
  };
  return *all;
}

}  // namespace berth::broken
