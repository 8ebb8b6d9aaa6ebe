// Reads what matters of a 64-bit little-endian ELF shared object, from bytes, without running it.
//
// The bytes are foreign: every offset, count and length is checked against the file before it is
// used, and what does not fit is reported instead of read.
#ifndef BERTH_CORE_OS_ELF_H_
#define BERTH_CORE_OS_ELF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace berth::os {

struct ElfNote {
  std::string owner;
  std::uint32_t type = 0;
  std::string_view payload;  // into the file's bytes
};

struct ElfFile {
  std::uint16_t machine = 0;  // EM_*
  std::uint16_t type = 0;     // ET_*
  std::vector<ElfNote> notes;
  std::vector<std::string> note_faults;  // why a note segment could not be read to its end
  std::vector<std::string> exports;      // defined, visible dynamic symbols
  // Of them, those that cannot be called as a function of the file: "NAME is data", ...
  std::vector<std::string> not_functions;
  std::vector<std::string> needed;       // DT_NEEDED
  std::string runpath;                   // DT_RUNPATH or DT_RPATH
  bool text_relocations = false;
  bool executable_stack = false;
  bool no_delete = false;  // DF_1_NODELETE
  bool bind_now = false;
  std::uint64_t init_array_bytes = 0;  // 8 for a library with no load-time code of its own
};

inline constexpr std::size_t kElfSegmentsMax = 256;
inline constexpr std::size_t kElfNotesMax = 256;
inline constexpr std::size_t kElfSymbolsMax = 65536;
inline constexpr std::size_t kElfNeededMax = 256;
inline constexpr std::uint64_t kElfMemoryMax = std::uint64_t{4} << 30;  // of one segment, and its place

// The machine this program was built for.
std::uint16_t own_elf_machine();
std::string elf_machine_name(std::uint16_t machine);

// Fails when the bytes are not a 64-bit little-endian ELF file or its tables do not hold together.
Result<ElfFile> read_elf(std::string_view bytes);

}  // namespace berth::os

#endif  // BERTH_CORE_OS_ELF_H_
