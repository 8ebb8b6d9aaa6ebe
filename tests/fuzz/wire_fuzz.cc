// What the other side of the wire sends is read or refused, and what is read can be sent again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/plugin/wire.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

using namespace berth::plugin;

std::string_view payload(const std::string& frame) {
  return std::string_view(frame).substr(kFrameHeaderBytes);
}

void take(const Frame& frame) {
  if (const auto request = decode_start(frame.payload)) {
    const std::string again = encode_start(frame.op, *request);
    FUZZ_CHECK(decode_start(payload(again)).has_value());
  }
  for (std::uint8_t number = 0; number < kSlotCount; ++number) {
    const auto slot = static_cast<Slot>(number);
    auto reply = decode_reply(slot, frame.payload);
    if (!reply) continue;
    std::vector<Violation> violations;
    check_reply(slot, *reply, violations);
    FUZZ_CHECK(reply->outcome.done() || violations.empty() ||
               reply->outcome.outcome_class == berth::OutcomeClass::kUncertain);
    const std::string again = encode_reply(frame.op, slot, *reply);
    FUZZ_CHECK(decode_reply(slot, payload(again)).has_value());
  }
  static_cast<void>(decode_findings(frame.payload));
  static_cast<void>(decode_hello(frame.payload));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (;;) {
    std::size_t used = 0;
    const auto frame = next_frame(bytes, used);
    if (!frame || !frame->has_value()) break;
    FUZZ_CHECK(used >= kFrameHeaderBytes && used <= bytes.size());
    take(**frame);
    bytes.remove_prefix(used);
  }
  // As a payload of its own too: a mutation rarely makes a whole frame.
  take({FrameType::kCompleted, 1, {reinterpret_cast<const char*>(data), size}});
  return 0;
}
