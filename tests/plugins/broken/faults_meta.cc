#include <set>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

// Reports a capability the manifest does not claim.
struct ProbesMore : Twin {
  std::set<berth_op> probes;
  void probe(berth_op op) override {
    probes.insert(op);
    Twin::probe(op);
  }
  void op_complete(berth_op op, const berth_outcome* outcome) override {
    if (probes.erase(op) == 0 || outcome->outcome_class != BERTH_DONE) return Twin::op_complete(op, outcome);
    berth_capability more{};
    more.struct_size = sizeof more;
    more.available = 1;
    more.id = text("files.session");
    berth_probe_result result = *static_cast<const berth_probe_result*>(outcome->result);
    result.capabilities = &more;
    result.capability_count = 1;
    berth_outcome changed = *outcome;
    changed.result = &result;
    Twin::op_complete(op, &changed);
  }
};

}  // namespace

const Faults& meta_faults() {
  static const Faults* const all = new Faults{
      {"META-006", &make<ProbesMore>},
  };
  return *all;
}

}  // namespace berth::broken
