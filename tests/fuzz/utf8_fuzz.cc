// Mended text is valid, valid text is left alone, and no more than three bytes come for one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string mended = berth::to_valid_utf8(bytes);
  FUZZ_CHECK(berth::is_valid_utf8(mended));
  FUZZ_CHECK(berth::is_valid_utf8(bytes) == (mended == bytes));
  FUZZ_CHECK(mended.size() <= 3 * bytes.size());
  return 0;
}
