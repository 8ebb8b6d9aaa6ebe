#include "tests/plugins/broken/twin.h"

namespace berth::broken {

const Faults& strm_faults() {
  static const Faults* const all = new Faults{};
  return *all;
}

}  // namespace berth::broken
