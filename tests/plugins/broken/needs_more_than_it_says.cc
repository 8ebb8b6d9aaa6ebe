// Wants a configuration that its schema does not ask for.
#include "tests/plugins/broken/twin.h"

namespace {
struct Demanding : berth::broken::Twin {
  void open(berth_op op, const berth_open_spec* spec) override {
    if (berth::broken::text(spec->config_json).find("programs") != std::string::npos) return Twin::open(op, spec);
    ended(op, BERTH_REJECTED, BERTH_CODE_INVALID_ARGUMENT, "set providers.broken.config.programs");
  }
};
}  // namespace

extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1(
    const berth_offer* offer, berth_reply* reply) {
  return berth::broken::enter(offer, reply, std::make_unique<Demanding>());
}
