#include "tests/plugins/broken/twin.h"

namespace berth::broken {

const Faults& meta_faults() {
  static const Faults* const all = new Faults{};
  return *all;
}

}  // namespace berth::broken
