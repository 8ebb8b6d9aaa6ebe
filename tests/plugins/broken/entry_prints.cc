// The entry says hello.
#include <cstdio>

#include "tests/plugins/broken/twin.h"

extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1(
    const berth_offer* offer, berth_reply* reply) {
  std::puts("hello from the entry");
  return berth::broken::enter(offer, reply);
}
