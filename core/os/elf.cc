#include "core/os/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace berth::os {
namespace {

// Copies a T out of the bytes, or nothing when it does not lie wholly inside.
template <class T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset,
                                      std::uint64_t length) {
  if (offset > bytes.size() || bytes.size() - offset < length) return std::nullopt;
  return bytes.substr(offset, length);
}

// A string that ends inside the table, or nothing.
std::optional<std::string_view> string_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const std::string_view rest = table.substr(offset);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

tl::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorKind::kCorrupt, std::move(message));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<ElfFile> read() {
    BERTH_CHECK_OK(read_header());
    BERTH_CHECK_OK(read_segments());
    BERTH_CHECK_OK(read_dynamic());
    return std::move(file_);
  }

 private:
  struct Dynamic {
    std::uint64_t symbols = 0, strings = 0, strings_size = 0, hash = 0, gnu_hash = 0;
    std::uint64_t runpath = 0;
    bool has_symbols = false, has_strings = false, has_hash = false, has_gnu_hash = false;
    bool has_runpath = false;
    std::vector<std::uint64_t> needed;
  };

  Status read_header() {
    if (bytes_.size() < SELFMAG || bytes_.substr(0, SELFMAG) != ELFMAG)
      return corrupt("the file does not begin with the ELF magic bytes");
    if (bytes_.size() < EI_NIDENT) return corrupt("the ELF identification is cut short");
    if (bytes_[EI_CLASS] != ELFCLASS64) return corrupt("it is not a 64-bit ELF file");
    if (bytes_[EI_DATA] != ELFDATA2LSB) return corrupt("it is not a little-endian ELF file");
    const auto header = read_at<Elf64_Ehdr>(bytes_, 0);
    if (!header) return corrupt("the ELF header is cut short");
    file_.machine = header->e_machine;
    file_.type = header->e_type;
    if (header->e_phnum == 0) return corrupt("it has no program headers, so it cannot be loaded");
    if (header->e_phentsize != sizeof(Elf64_Phdr))
      return corrupt(fmt::format("its program headers have {} bytes each instead of {}",
                                 header->e_phentsize, sizeof(Elf64_Phdr)));
    if (header->e_phnum > kElfSegmentsMax)
      return corrupt(fmt::format("it has {} program headers; at most {} are read",
                                 header->e_phnum, kElfSegmentsMax));
    for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
      if (header->e_phoff > bytes_.size()) return corrupt("a program header lies beyond the file");
      const auto segment = read_at<Elf64_Phdr>(bytes_, header->e_phoff + i * sizeof(Elf64_Phdr));
      if (!segment) return corrupt("a program header lies beyond the end of the file");
      segments_.push_back(*segment);
    }
    return {};
  }

  // What the dynamic linker takes for granted, and what makes an address mean one thing only.
  Status check_layout() const {
    const Elf64_Phdr* last = nullptr;
    std::size_t dynamic = 0;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_DYNAMIC && ++dynamic > 1)
        return corrupt("it has more than one dynamic section");
      if (segment.p_type != PT_LOAD) continue;
      if (segment.p_filesz > segment.p_memsz)
        return corrupt("a loadable segment is larger in the file than in memory");
      if (segment.p_memsz > kElfMemoryMax || segment.p_vaddr > kElfMemoryMax)
        return corrupt(fmt::format("a loadable segment asks for more than {} bytes of memory", kElfMemoryMax));
      const std::uint64_t align = segment.p_align;
      if (align > 1 && ((align & (align - 1)) != 0 || (segment.p_vaddr - segment.p_offset) % align != 0))
        return corrupt("a loadable segment is not aligned as it says");
      if (last != nullptr && segment.p_vaddr < last->p_vaddr + last->p_memsz)
        return corrupt("its loadable segments overlap or are out of order");
      last = &segment;
    }
    return last != nullptr ? Status{} : Status(corrupt("it has no loadable segment"));
  }

  Status read_segments() {
    BERTH_CHECK_OK(check_layout());
    bool stack_seen = false;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_LOAD && !slice(bytes_, segment.p_offset, segment.p_filesz))
        return corrupt("a loadable segment lies beyond the end of the file: the file is cut short");
      if (segment.p_type == PT_GNU_STACK) {
        stack_seen = true;
        file_.executable_stack = (segment.p_flags & PF_X) != 0;
      }
      if (segment.p_type == PT_NOTE) read_notes(segment);
    }
    // Without the header the kernel's default applies, which is an executable stack.
    if (!stack_seen) file_.executable_stack = true;
    return {};
  }

  void read_notes(const Elf64_Phdr& segment) {
    const auto area = slice(bytes_, segment.p_offset, segment.p_filesz);
    if (!area) {
      file_.note_faults.push_back("a note segment lies beyond the end of the file");
      return;
    }
    const std::uint64_t align = segment.p_align == 8 ? 8 : 4;
    const auto padded = [&](std::uint64_t size) { return (size + align - 1) & ~(align - 1); };
    std::uint64_t at = 0;
    while (at < area->size()) {
      const auto header = read_at<Elf64_Nhdr>(*area, at);
      // A segment may be padded at its end.
      if (!header && area->find_first_not_of('\0', at) == std::string_view::npos) return;
      if (!header) {
        file_.note_faults.push_back(fmt::format("a note header at byte {} is cut short", at));
        return;
      }
      const std::uint64_t name_at = at + sizeof(Elf64_Nhdr);
      const auto name = slice(*area, name_at, header->n_namesz);
      // The payload is aligned from the start of the note, of which both sizes are multiples of 4.
      const std::uint64_t payload_at = at + padded(sizeof(Elf64_Nhdr) + header->n_namesz);
      const auto payload = slice(*area, payload_at, header->n_descsz);
      if (!name || !payload) {
        file_.note_faults.push_back(fmt::format(
            "the note at byte {} says it has {} bytes of name and {} of payload, more than its "
            "segment holds",
            at, header->n_namesz, header->n_descsz));
        return;
      }
      if (file_.notes.size() == kElfNotesMax) {
        file_.note_faults.push_back(fmt::format("only the first {} notes are read", kElfNotesMax));
        return;
      }
      const std::size_t owner_end = name->find('\0');
      file_.notes.push_back({std::string(name->substr(0, owner_end)), header->n_type, *payload});
      at = payload_at + padded(header->n_descsz);
    }
  }

  // File offset of a virtual address, or nothing when no segment's file part holds it.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const std::uint64_t inside = address - segment.p_vaddr;
      if (inside < segment.p_filesz) return segment.p_offset + inside;
    }
    return std::nullopt;
  }

  Status read_dynamic() {
    const auto found = std::find_if(segments_.begin(), segments_.end(),
                                    [](const auto& s) { return s.p_type == PT_DYNAMIC; });
    if (found == segments_.end()) return corrupt("it has no dynamic section: not a shared object");
    const auto area = slice(bytes_, found->p_offset, found->p_filesz);
    if (!area) return corrupt("its dynamic section lies beyond the end of the file");
    Dynamic dynamic;
    bool ended = false;
    for (std::uint64_t at = 0; !ended && at + sizeof(Elf64_Dyn) <= area->size();
         at += sizeof(Elf64_Dyn))
      ended = take_entry(*read_at<Elf64_Dyn>(*area, at), dynamic);
    if (!ended) return corrupt("its dynamic section has no end");
    if (dynamic.needed.size() > kElfNeededMax)
      return corrupt(fmt::format("it needs more than {} libraries", kElfNeededMax));
    return read_names(dynamic);
  }

  // True at the end of the section.
  bool take_entry(const Elf64_Dyn& entry, Dynamic& dynamic) {
    const std::uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_NULL: return true;
      case DT_NEEDED:
        if (dynamic.needed.size() <= kElfNeededMax) dynamic.needed.push_back(value);
        break;
      case DT_SYMTAB: dynamic.symbols = value; dynamic.has_symbols = true; break;
      case DT_STRTAB: dynamic.strings = value; dynamic.has_strings = true; break;
      case DT_STRSZ: dynamic.strings_size = value; break;
      case DT_HASH: dynamic.hash = value; dynamic.has_hash = true; break;
      case DT_GNU_HASH: dynamic.gnu_hash = value; dynamic.has_gnu_hash = true; break;
      case DT_RPATH:
      case DT_RUNPATH: dynamic.runpath = value; dynamic.has_runpath = true; break;
      case DT_INIT_ARRAYSZ: file_.init_array_bytes = value; break;
      case DT_TEXTREL: file_.text_relocations = true; break;
      case DT_BIND_NOW: file_.bind_now = true; break;
      case DT_FLAGS:
        if ((value & DF_TEXTREL) != 0) file_.text_relocations = true;
        if ((value & DF_BIND_NOW) != 0) file_.bind_now = true;
        break;
      case DT_FLAGS_1:
        if ((value & DF_1_NODELETE) != 0) file_.no_delete = true;
        if ((value & DF_1_NOW) != 0) file_.bind_now = true;
        break;
      default: break;
    }
    return false;
  }

  Status read_names(const Dynamic& dynamic) {
    if (!dynamic.has_strings) return corrupt("its dynamic section names no string table");
    const auto strings_at = offset_of(dynamic.strings);
    const auto strings =
        strings_at ? slice(bytes_, *strings_at, dynamic.strings_size) : std::nullopt;
    if (!strings) return corrupt("its dynamic string table lies beyond the end of the file");
    for (const std::uint64_t offset : dynamic.needed) {
      const auto name = string_at(*strings, offset);
      if (!name) return corrupt("the name of a needed library lies beyond its string table");
      file_.needed.emplace_back(*name);
    }
    if (dynamic.has_runpath) {
      const auto path = string_at(*strings, dynamic.runpath);
      if (!path) return corrupt("its run path lies beyond its string table");
      file_.runpath = *path;
    }
    if (!dynamic.has_symbols) return {};
    return read_symbols(dynamic, *strings);
  }

  Status read_symbols(const Dynamic& dynamic, std::string_view strings) {
    const auto symbols_at = offset_of(dynamic.symbols);
    if (!symbols_at) return corrupt("its symbol table lies beyond the end of the file");
    BERTH_TRY(const std::uint64_t count, symbol_count(dynamic));
    if (count > kElfSymbolsMax)
      return corrupt(fmt::format("it has {} dynamic symbols; at most {} are read", count,
                                 kElfSymbolsMax));
    for (std::uint64_t i = 1; i < count; ++i) {
      const auto symbol = read_at<Elf64_Sym>(bytes_, *symbols_at + i * sizeof(Elf64_Sym));
      if (!symbol) return corrupt("its symbol table lies beyond the end of the file");
      const unsigned binding = ELF64_ST_BIND(symbol->st_info);
      const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
      const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
      if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL || !visible) continue;
      const auto name = string_at(strings, symbol->st_name);
      if (!name) return corrupt("the name of a symbol lies beyond its string table");
      file_.exports.emplace_back(*name);
      if (std::string why = why_not_function(*symbol); !why.empty())
        file_.not_functions.push_back(fmt::format("{} {}", *name, why));
    }
    std::sort(file_.exports.begin(), file_.exports.end());
    return {};
  }

  // Empty for a function that lies in code of this file.
  std::string why_not_function(const Elf64_Sym& symbol) const {
    switch (ELF64_ST_TYPE(symbol.st_info)) {
      case STT_FUNC: break;
      case STT_GNU_IFUNC: return "is chosen by code that runs while it is loaded (an ifunc)";
      case STT_TLS: return "is a variable of a thread";
      default: return "is data";
    }
    const bool in_code = std::any_of(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& s) {
      return s.p_type == PT_LOAD && (s.p_flags & PF_X) != 0 && symbol.st_value >= s.p_vaddr &&
             symbol.st_value - s.p_vaddr < s.p_filesz;
    });
    return in_code && symbol.st_shndx != SHN_ABS ? "" : "does not lie in its code";
  }

  // Either table may be the one the dynamic linker uses, so the one that shows more counts.
  Result<std::uint64_t> symbol_count(const Dynamic& dynamic) const {
    std::uint64_t most = 0;
    if (dynamic.has_hash) {
      const auto at = offset_of(dynamic.hash);
      const auto count =
          at ? read_at<std::uint32_t>(bytes_, *at + sizeof(std::uint32_t)) : std::nullopt;
      if (!count) return corrupt("its hash table lies beyond the end of the file");
      most = *count;
    }
    if (dynamic.has_gnu_hash) {
      BERTH_TRY(const std::uint64_t count, gnu_symbol_count(dynamic.gnu_hash));
      most = std::max(most, count);
    }
    if (!dynamic.has_hash && !dynamic.has_gnu_hash)
      return corrupt("it has dynamic symbols but no hash table to count them by");
    return most;
  }

  // The GNU table does not say how many symbols there are: the longest chain's end does.
  Result<std::uint64_t> gnu_symbol_count(std::uint64_t address) const {
    const auto at = offset_of(address);
    const auto header = at ? read_at<std::array<std::uint32_t, 4>>(bytes_, *at) : std::nullopt;
    if (!header) return corrupt("its hash table lies beyond the end of the file");
    const auto [buckets, first, bloom, shift] = *header;
    static_cast<void>(shift);
    if (buckets > kElfSymbolsMax || bloom > kElfSymbolsMax)
      return corrupt("its hash table is larger than any that is read");
    const std::uint64_t buckets_at = *at + sizeof(*header) + std::uint64_t{bloom} * 8;
    const std::uint64_t chains_at = buckets_at + std::uint64_t{buckets} * 4;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < buckets; ++i) {
      const auto bucket = read_at<std::uint32_t>(bytes_, buckets_at + i * 4);
      if (!bucket) return corrupt("its hash table lies beyond the end of the file");
      last = std::max<std::uint64_t>(last, *bucket);
    }
    if (last < first) return std::uint64_t{first};
    for (; last - first < kElfSymbolsMax; ++last) {
      const auto link = read_at<std::uint32_t>(bytes_, chains_at + (last - first) * 4);
      if (!link) return corrupt("a chain of its hash table lies beyond the end of the file");
      if ((*link & 1) != 0) return last + 1;
    }
    return corrupt(fmt::format("it has more than {} dynamic symbols", kElfSymbolsMax));
  }

  std::string_view bytes_;
  ElfFile file_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::uint16_t own_elf_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#elif defined(__riscv)
  return EM_RISCV;
#else
#error "name this machine's ELF number here"
#endif
}

std::string elf_machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_386: return "x86";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "arm";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    default: return fmt::format("machine {}", machine);
  }
}

Result<ElfFile> read_elf(std::string_view bytes) { return Reader(bytes).read(); }

}  // namespace berth::os
