#include <unistd.h>

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

// The scope contains the process.
struct ScopeWanders : Twin {
  void scope(berth_op op) override {
    const std::string process = std::to_string(::getpid());
    const berth_pair fields[] = {{text("account"), text(process)}, {text("endpoint"), text("memory")}};
    berth_scope_result result{};
    result.struct_size = sizeof result;
    result.fields = {fields, 2};
    done(op, &result);
  }
};

}  // namespace

const Faults& op_faults() {
  static const Faults* const all = new Faults{
      {"OP-002", &make<CompletesTwice>},
      {"SCOPE-002", &make<ScopeWanders>},
  };
  return *all;
}

}  // namespace berth::broken
