// Inspecting a file never fails, and a file is loadable only with both notes and a manifest.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/registry/inspect.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto inspection = berth::registry::inspect_bytes("fuzzed.so", bytes);
  FUZZ_CHECK(inspection.size_bytes == size);
  if (inspection.loadable()) {
    FUZZ_CHECK(inspection.elf.has_value());
    FUZZ_CHECK(inspection.abi_note.has_value());
    FUZZ_CHECK(inspection.manifest.has_value());
  }
  for (const auto& finding : inspection.findings) FUZZ_CHECK(!to_sentence(finding).empty());
  FUZZ_CHECK(to_json(inspection).is_object());
  return 0;
}
