// Before it is open it knows nothing, and says that nothing is there.
#include "tests/plugins/broken/twin.h"

namespace {
struct Early : berth::broken::Twin {
  bool opened = false;
  void open(berth_op op, const berth_open_spec* spec) override {
    opened = true;
    Twin::open(op, spec);
  }
  void lookup(berth_op op, berth_str name) override {
    if (opened) return Twin::lookup(op, name);
    berth_lookup_result result{};
    result.struct_size = sizeof result;
    result.presence = BERTH_PRESENCE_ABSENT_NOW;
    done(op, &result);
  }
};
}  // namespace

extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1(
    const berth_offer* offer, berth_reply* reply) {
  return berth::broken::enter(offer, reply, std::make_unique<Early>());
}
