// A host whose table is too small is completed with nothing.
#include "tests/plugins/broken/twin.h"

#include <algorithm>
#include <cstring>

extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1(
    const berth_offer* offer, berth_reply* reply) {
  static berth_host_v1 completed;
  if (offer->host == nullptr || offer->host->struct_size >= sizeof completed) return berth::broken::enter(offer, reply);
  std::memcpy(&completed, offer->host, std::min<std::size_t>(offer->host->struct_size, sizeof completed));
  completed.struct_size = sizeof completed;
  berth_offer better = *offer;
  better.host = &completed;
  return berth::broken::enter(&better, reply);
}
