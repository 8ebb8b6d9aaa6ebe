// What ends a case from outside: no clause of its own, but the kit must bound it and say where it was.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

struct Hangs : Twin {
  void lookup(berth_op op, berth_str) override {
    op_stage(op, text("waiting for ever"));
    for (;;) ::pause();
  }
};

struct Crashes : Twin {
  void lookup(berth_op op, berth_str) override {
    op_stage(op, text("about to crash"));
    std::abort();
  }
};

struct Floods : Twin {
  void probe(berth_op op) override {
    const std::string line(4000, 'f');
    for (int i = 0; i < 5000; ++i) {
      std::puts(line.c_str());
      host().log(host().ctx, BERTH_LOG_INFO, text(line));
      op_stage(op, text("flooding"));
    }
    Twin::probe(op);
  }
};

}  // namespace

const Faults& wild_faults() {
  static const Faults* const all = new Faults{
      {"hang", &make<Hangs>}, {"crash", &make<Crashes>}, {"flood", &make<Floods>}};
  return *all;
}

}  // namespace berth::broken
