#include "core/registry/inspect.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/sha256.h"
#include "core/registry/clauses.h"
#include "sdk/include/berth/abi.h"

namespace berth::registry {
namespace {

// A file's bytes for as long as it is looked at.
class Mapping {
 public:
  Mapping(int fd, std::size_t size)
      : size_(size), data_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0)) {}
  ~Mapping() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool valid() const { return data_ != MAP_FAILED; }
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

class Inspector {
 public:
  explicit Inspector(Inspection& inspection) : out_(inspection) {}

  void look(std::string_view bytes) {
    out_.size_bytes = bytes.size();
    out_.digest = sha256_hex(bytes);
    auto elf = os::read_elf(bytes);
    if (!elf) {
      refuse(clause::kElf, "", elf.error().message(),
             "build the provider as a shared object for this machine");
      return;
    }
    out_.elf = std::move(*elf);
    machine();
    hardening();
    exports();
    load_time_code();
    notes();
    negotiation();
    // The payloads point into bytes that this inspection does not own.
    for (os::ElfNote& note : out_.elf->notes) note.payload = {};
  }

  void refuse(std::string_view clause_id, std::string claimed, std::string found,
              std::string remedy) {
    out_.findings.push_back({Severity::kRefusal, std::string(clause_id), std::move(claimed),
                             std::move(found), std::move(remedy)});
  }

 private:
  void warn(std::string_view clause_id, std::string found, std::string remedy) {
    out_.findings.push_back({Severity::kWarning, std::string(clause_id), "", std::move(found),
                             std::move(remedy)});
  }

  void machine() {
    if (out_.elf->type != ET_DYN)
      refuse(clause::kElf, "", fmt::format("an ELF file of type {}", out_.elf->type),
             "link it with -shared");
    if (out_.elf->machine != os::own_elf_machine())
      refuse(clause::kElf, "",
             fmt::format("code for {}, while this host is {}",
                         os::elf_machine_name(out_.elf->machine),
                         os::elf_machine_name(os::own_elf_machine())),
             "build it for this machine");
  }

  void hardening() {
    if (out_.elf->text_relocations)
      refuse(clause::kHardening, "", "text relocations: its code would be written to while loading",
             "compile every part of it with -fPIC");
    if (out_.elf->executable_stack)
      refuse(clause::kHardening, "", "a demand for an executable stack",
             "link it with -z noexecstack, and mark assembly files with .note.GNU-stack");
    if (!out_.elf->runpath.empty())
      refuse(clause::kHardening, "", fmt::format("a run path \"{}\"", out_.elf->runpath),
             "link private libraries statically; a provider is loaded from memory, where a run "
             "path leads nowhere");
    for (const std::string& name : out_.elf->needed)
      if (name.find('/') != std::string::npos || name.empty())
        refuse(clause::kHardening, "", fmt::format("a needed library named by a path, \"{}\"", name),
               "link private libraries statically, and others by their plain name");
    if (!out_.elf->bind_now)
      warn(clause::kHardening, "lazy binding: a missing symbol shows only when it is called",
           "link it with -z now");
    if (!out_.elf->no_delete)
      warn(clause::kHardening, "it may be unloaded while its threads run", "link it with -z nodelete");
  }

  void exports() {
    const auto& all = out_.elf->exports;
    std::vector<std::string> extra;
    for (const std::string& name : all)
      if (name != BERTH_ENTRY_SYMBOL) extra.push_back(name);
    if (extra.size() == all.size())
      refuse(clause::kExports, "",
             fmt::format("no exported symbol {}", BERTH_ENTRY_SYMBOL),
             "define the entry with BERTH_PROVIDER() or as extern \"C\" with default visibility");
    for (const std::string& why : out_.elf->not_functions)
      if (why.starts_with(BERTH_ENTRY_SYMBOL " "))
        refuse(clause::kExports, "", fmt::format("the symbol {}", why),
               "define the entry as an ordinary function");
    if (extra.empty()) return;
    const std::size_t count = extra.size();
    if (count > 5) extra.resize(5);
    refuse(clause::kExports, "",
           fmt::format("{} exported symbol{} beside the entry: {}{}", count, count == 1 ? "" : "s",
                       fmt::join(extra, ", "), count > 5 ? ", ..." : ""),
           "link it with a version script that keeps everything but the entry local");
  }

  void load_time_code() {
    if (out_.elf->init_array_bytes > 8)
      warn(clause::kLoadTimeCode,
           fmt::format("{} functions that run while it is loaded", out_.elf->init_array_bytes / 8),
           "have no global objects with constructors; build things in open");
  }

  const os::ElfNote* note(std::uint32_t type, std::string_view what) {
    const os::ElfNote* found = nullptr;
    for (const os::ElfNote& candidate : out_.elf->notes) {
      if (candidate.owner != BERTH_NOTE_OWNER || candidate.type != type) continue;
      if (found != nullptr) {
        refuse(clause::kNotes, "", fmt::format("more than one {} note", what), "embed one");
        return nullptr;
      }
      found = &candidate;
    }
    if (found == nullptr)
      refuse(clause::kNotes, "",
             fmt::format("no {} note of owner {} in its note segments", what, BERTH_NOTE_OWNER),
             "build it with berth_add_provider(), which embeds both notes");
    return found;
  }

  void notes() {
    for (const std::string& fault : out_.elf->note_faults)
      refuse(clause::kNotes, "", fault, "build it again; the file may be cut short or damaged");
    if (const os::ElfNote* abi = note(BERTH_NOTE_ABI, "abi")) abi_note(abi->payload);
    if (const os::ElfNote* manifest = note(BERTH_NOTE_MANIFEST, "manifest")) {
      if (manifest->payload.size() > kManifestBytesMax)
        refuse(clause::kNotes, "",
               fmt::format("a manifest note of {} bytes", manifest->payload.size()),
               fmt::format("keep the manifest within {} bytes", kManifestBytesMax));
      else
        out_.manifest = parse_manifest(manifest->payload, out_.findings);
    }
    if (out_.manifest && out_.abi_note && *out_.abi_note != out_.manifest->abi)
      refuse(clause::kNotesAgree,
             fmt::format("ABI {}.{} (at least {}) in the manifest", out_.manifest->abi.major,
                         out_.manifest->abi.minor, out_.manifest->abi.minor_required),
             fmt::format("ABI {}.{} (at least {}) in the abi note", out_.abi_note->major,
                         out_.abi_note->minor, out_.abi_note->minor_required),
             "build it again with berth_add_provider(), which makes both from one manifest");
  }

  void abi_note(std::string_view payload) {
    berth_abi_note raw;
    if (payload.size() != sizeof raw)
      return refuse(clause::kNotes, "",
                    fmt::format("an abi note of {} bytes", payload.size()),
                    fmt::format("write {} bytes, as berth_abi_note says", sizeof raw));
    std::memcpy(&raw, payload.data(), sizeof raw);
    if (raw.format != BERTH_NOTE_FORMAT)
      return refuse(clause::kNotes, fmt::format("note format {}", raw.format),
                    fmt::format("a format this host cannot read; it reads {}", BERTH_NOTE_FORMAT),
                    "use a newer host, or build it with an older SDK");
    if (raw.flags != 0)
      refuse(clause::kNotes, fmt::format("flags {:#x} in the abi note", raw.flags),
             "flags that this host does not know", "use a newer host, or set them to zero");
    out_.abi_note = AbiClaim{raw.abi_major, raw.abi_minor_built, raw.abi_minor_required};
  }

  void negotiation() {
    const HostOffer& offer = host_offer();
    if (out_.abi_note) {
      const AbiClaim& abi = *out_.abi_note;
      const std::string built = fmt::format("built for ABI {}.{}", abi.major, abi.minor);
      if (abi.major != offer.abi_major)
        refuse(clause::kMajor, built,
               fmt::format("a host of ABI {}.{}: major versions differ", offer.abi_major,
                           offer.minor_max),
               fmt::format("use a host of major {}, or build it with an SDK of major {}", abi.major,
                           offer.abi_major));
      else if (abi.minor_required > offer.minor_max)
        refuse(clause::kMinor,
               fmt::format("it needs ABI {}.{} or newer ({})", abi.major, abi.minor_required, built),
               fmt::format("a host of ABI {}.{}", offer.abi_major, offer.minor_max),
               fmt::format("use a newer host, or build it with SDK {}.{}", offer.abi_major,
                           offer.minor_max));
      if (abi.minor_required > abi.minor)
        refuse(clause::kMinor, built,
               fmt::format("it requires minor {}, newer than the one it was built with",
                           abi.minor_required),
               "let minorRequired be at most minor");
    }
    if (!out_.manifest) return;
    for (const std::string& id : out_.manifest->host_extensions)
      if (std::find(offer.extensions.begin(), offer.extensions.end(), id) == offer.extensions.end())
        refuse(clause::kHostExtensions, fmt::format("it requires the host extension {}", id),
               "a host that does not offer it", "use a host that does");
  }

  Inspection& out_;
};

// Copies the file into sealed memory, or says why not.
os::Fd seal_copy(const std::filesystem::path& path, Inspection& inspection) {
  Inspector inspector(inspection);
  const auto unreadable = [&](const Error& error) {
    inspector.refuse(clause::kFile, "", error.message(), "name an existing, readable provider file");
    return os::Fd();
  };
  // Looked at before it is opened: opening a fifo or a device already does something to it.
  const auto place = os::open_file(path, O_PATH);
  if (!place) return unreadable(place.error());
  struct stat info {};
  if (::fstat(place->get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    inspector.refuse(clause::kFile, "",
                     fmt::format("{}, not a regular file",
                                 S_ISDIR(info.st_mode) ? "a folder" : "a special file"),
                     "name the provider's .so file");
    return {};
  }
  const os::Fd file(::open(fmt::format("/proc/self/fd/{}", place->get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return unreadable(os_error(errno, fmt::format("cannot open {}", path.string())));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size == 0 || size > kProviderBytesMax) {
    inspector.refuse(clause::kFile, "",
                     size == 0 ? std::string("an empty file") : fmt::format("a file of {} bytes", size),
                     size == 0 ? std::string("build or copy it again")
                               : fmt::format("at most {} bytes are read", kProviderBytesMax));
    return {};
  }
  auto memory = os::sealed_copy("berth-provider", file.get(), kProviderBytesMax, path.string());
  if (!memory) {
    inspector.refuse(clause::kFile, "", memory.error().message(), "try again; check memory and disk");
    return {};
  }
  return std::move(*memory);
}

}  // namespace

const HostOffer& host_offer() {
  static const HostOffer offer{BERTH_ABI_MAJOR, 0, BERTH_ABI_MINOR, {}};
  return offer;
}

ProviderImage take_image(const std::filesystem::path& path) {
  ProviderImage image;
  image.inspection.path = path;
  image.memory = seal_copy(path, image.inspection);
  if (!image.memory.valid()) return image;
  struct stat info {};
  ::fstat(image.memory.get(), &info);
  const Mapping mapping(image.memory.get(), static_cast<std::size_t>(info.st_size));
  Inspector inspector(image.inspection);
  if (info.st_size > 0 && mapping.valid())
    inspector.look(mapping.bytes());
  else
    inspector.refuse(clause::kFile, "", "a file that cannot be mapped", "check memory and try again");
  return image;
}

Inspection inspect(const std::filesystem::path& path) { return take_image(path).inspection; }

Inspection inspect_bytes(const std::filesystem::path& path, std::string_view bytes) {
  Inspection inspection;
  inspection.path = path;
  Inspector(inspection).look(bytes);
  return inspection;
}

}  // namespace berth::registry
