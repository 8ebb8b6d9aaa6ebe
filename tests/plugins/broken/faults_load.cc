#include <sys/stat.h>

#include "tests/plugins/broken/twin.h"

namespace berth::broken {
namespace {

struct ChangesUmask : Twin {
  void open(berth_op op, const berth_open_spec* spec) override {
    ::umask(0);
    Twin::open(op, spec);
  }
};

}  // namespace

const Faults& load_faults() {
  static const Faults* const all = new Faults{
      {"LOAD-007", &make<ChangesUmask>},
  };
  return *all;
}

}  // namespace berth::broken
