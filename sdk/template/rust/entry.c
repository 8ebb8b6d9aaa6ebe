/* The one symbol a host sees. [LOAD-004] */
#include "berth/abi.h"

uint32_t enter_in_rust(const berth_offer *offer, berth_reply *reply);

uint32_t berth_provider_entry_v1(const berth_offer *offer, berth_reply *reply) {
  return enter_in_rust(offer, reply);
}
