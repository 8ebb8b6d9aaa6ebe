// Whatever bytes a file has: what is read of it lies within it and within the bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/os/elf.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto elf = berth::os::read_elf(bytes);
  if (!elf) {
    FUZZ_CHECK(!elf.error().message().empty());
    return 0;
  }
  FUZZ_CHECK(elf->notes.size() <= berth::os::kElfNotesMax);
  FUZZ_CHECK(elf->exports.size() <= berth::os::kElfSymbolsMax);
  FUZZ_CHECK(elf->needed.size() <= berth::os::kElfNeededMax);
  for (const auto& note : elf->notes) {
    if (note.payload.empty()) continue;
    FUZZ_CHECK(note.payload.data() >= bytes.data());
    FUZZ_CHECK(note.payload.data() + note.payload.size() <= bytes.data() + bytes.size());
  }
  return 0;
}
