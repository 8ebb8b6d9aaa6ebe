// Manifest: what a provider claims about itself, parsed from the document it carries.
//
// A claim is a declaration, not evidence. Parsing is strict and bounded; it reports every fault and
// not only the first.
#ifndef BERTH_CORE_REGISTRY_MANIFEST_H_
#define BERTH_CORE_REGISTRY_MANIFEST_H_

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifecycle/provider.h"
#include "core/registry/finding.h"

namespace berth::registry {

// The largest manifest that is read, as in the ABI.
inline constexpr std::size_t kManifestBytesMax = 65536;

struct CapabilityClaim {
  std::string id;              // "files.session"
  boost::json::object limits;  // empty when none are stated
};

// Met when every variable of at least one option is set.
struct EnvRequirement {
  std::string description;
  std::vector<std::vector<std::string>> options;
};

struct AbiClaim {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  std::uint16_t minor_required = 0;
  friend bool operator==(const AbiClaim&, const AbiClaim&) = default;
};

struct Needs {
  std::vector<std::string> kernel;
  std::vector<std::string> devices;
  std::vector<std::string> binaries;
};

struct Manifest {
  std::string id;
  std::string version;
  std::string title;
  std::string vendor;
  std::string license;
  std::string homepage;
  AbiClaim abi;
  std::vector<CapabilityClaim> capabilities;
  std::vector<std::string> extensions;
  std::vector<std::string> host_extensions;
  std::vector<EnvRequirement> env_requirements;
  std::vector<std::string> optional_env;
  boost::json::object config_schema;  // empty: the provider takes no configuration
  Recovery recovery = Recovery::kManual;
  Streams streams = Streams::kSeparate;
  std::vector<std::string> scope_fields;  // in the order in which they enter a sandbox's name
  std::vector<std::string> languages;
  std::uint32_t concurrency_per_provider = 1;
  std::uint32_t concurrency_per_sandbox = 1;
  Needs needs;
  boost::json::object unknown;   // fields this host does not know, as they were
  boost::json::object document;  // all of it, as it was

  // Every variable it declares: those of the requirements and the optional ones, each once.
  std::vector<std::string> declared_variables() const;
};

// The extension that backs a capability, or empty for one that lives in the create spec.
std::string_view extension_of(std::string_view capability);

// Every capability of contract version 1.
std::vector<std::string_view> all_capabilities();

// Parses a manifest. Appends every fault to `findings`; returns nothing when one of them refuses.
std::optional<Manifest> parse_manifest(std::string_view text, Findings& findings);

// One sentence for each requirement that `variable` (null when unset) does not meet.
std::vector<std::string> unmet_requirements(
    const Manifest& manifest, const std::function<const char*(const std::string&)>& variable);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_MANIFEST_H_
