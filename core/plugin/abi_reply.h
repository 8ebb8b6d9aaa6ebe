// A provider's answer, taken over from the ABI with every field checked.
#ifndef BERTH_CORE_PLUGIN_ABI_REPLY_H_
#define BERTH_CORE_PLUGIN_ABI_REPLY_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/request.h"
#include "sdk/include/berth/abi.h"

namespace berth::plugin {

// A broken clause.
struct Violation {
  std::string clause;
  std::string text;
};

// Copies the outcome and its result. What does not hold together becomes UNCERTAIN with a code of
// the host's, and is appended to `violations`. Nothing of `outcome` is referred to afterwards.
Reply take_reply(Slot slot, const berth_outcome* outcome, std::vector<Violation>& violations);

// Checks a reply that is in host types already, as one from the wire: value and slot fit, presences
// are those the slot may give. Any thread.
void check_reply(Slot slot, Reply& reply, std::vector<Violation>& violations);

// Cuts a message to the ABI's bound and makes it valid UTF-8.
std::string bounded_message(std::string_view text);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_ABI_REPLY_H_
