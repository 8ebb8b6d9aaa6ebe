// There is a table for session files, and the manifest does not say so.
#include "tests/plugins/broken/twin.h"

namespace {
struct HasMore : berth::broken::Twin {
  const void* get_extension(berth_str id) override {
    static constexpr std::uint32_t kTable[2] = {sizeof kTable, 0};
    return berth::broken::text(id) == "berth.files/1" ? kTable : Twin::get_extension(id);
  }
};
}  // namespace

extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1(
    const berth_offer* offer, berth_reply* reply) {
  return berth::broken::enter(offer, reply, std::make_unique<HasMore>());
}
