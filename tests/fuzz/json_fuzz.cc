// Whatever parse_json accepts is within its bounds, and its canonical text is a fixed point.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = berth::parse_json(text, {.bytes_max = 4096, .depth_max = 16});
  if (!value) {
    FUZZ_CHECK(!value.error().message().empty());
    return 0;
  }
  FUZZ_CHECK(size <= 4096);
  FUZZ_CHECK(berth::is_valid_utf8(text));
  const std::string canonical = berth::canonical_json(*value);
  // Escapes may grow a document beyond the bound it was read with.
  const auto again = berth::parse_json(canonical, {.bytes_max = 1 << 20, .depth_max = 16});
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(berth::canonical_json(*again) == canonical);
  return 0;
}
