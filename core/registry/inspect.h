// Inspection: everything that can be told about a provider's file without running any of it.
#ifndef BERTH_CORE_REGISTRY_INSPECT_H_
#define BERTH_CORE_REGISTRY_INSPECT_H_

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/os/elf.h"
#include "core/os/fd.h"
#include "core/registry/finding.h"
#include "core/registry/manifest.h"

namespace berth::registry {

// The largest provider file that is read.
inline constexpr std::size_t kProviderBytesMax = std::size_t{256} << 20;

// What this host offers to providers.
struct HostOffer {
  std::uint16_t abi_major = 1;
  std::uint16_t minor_min = 0;
  std::uint16_t minor_max = 0;
  std::vector<std::string> extensions;
};
const HostOffer& host_offer();

struct Inspection {
  std::filesystem::path path;
  std::uint64_t size_bytes = 0;
  std::string digest;  // SHA-256, hexadecimal; empty when the file could not be read
  std::optional<os::ElfFile> elf;
  std::optional<AbiClaim> abi_note;
  std::optional<Manifest> manifest;
  Findings findings;

  bool loadable() const { return !refuses(findings); }
};

// A file as it was at one moment: the copy that is inspected, digested and loaded is one and the
// same, so that nobody can exchange it in between.
struct ProviderImage {
  os::Fd memory;  // sealed
  Inspection inspection;
};

// Never fails: a file that cannot be read is an inspection with a finding that says so.
Inspection inspect(const std::filesystem::path& path);

// The same, and keeps the sealed copy for loading. Without a copy `memory` is not valid.
ProviderImage take_image(const std::filesystem::path& path);

// The same for bytes already in memory.
Inspection inspect_bytes(const std::filesystem::path& path, std::string_view bytes);

boost::json::value to_json(const Inspection& inspection);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_INSPECT_H_
