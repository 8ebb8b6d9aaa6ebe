// What the operator of this host allows and sets, provider by provider.
#ifndef BERTH_CORE_REGISTRY_CONFIGURATION_H_
#define BERTH_CORE_REGISTRY_CONFIGURATION_H_

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/registry/manifest.h"

namespace berth::registry {

enum class Hosting {
  kWorker,     // a process of its own: the default everywhere
  kInProcess,  // in this process: no isolation; only by explicit choice
};

struct ProviderConfiguration {
  bool enabled = true;
  Hosting hosting = Hosting::kWorker;
  std::optional<std::vector<std::string>> grants;  // nothing said: every claimed capability
  std::vector<std::string> accepted_missing_layers;  // joins config.acceptMissingLayers
  std::filesystem::path file;                        // empty: found by the search
  boost::json::object config;                        // what `open` is given

  bool grants_capability(std::string_view capability) const;
};

struct HostConfiguration {
  std::map<std::string, ProviderConfiguration, std::less<>> providers;
  bool require_lock = false;       // a provider that the lock file does not list is refused
  bool require_signature = false;  // so is one whose entry is not signed by a trusted key
  std::map<std::string, std::string, std::less<>> trusted_keys;  // id -> Ed25519 public key, hex

  // What is said about `id`, or the defaults.
  ProviderConfiguration of(std::string_view id) const;
};

// {"providers": {ID: {"enabled", "hosting", "grants", "acceptMissingLayers", "file", "config"}},
//  "requireLock", "requireSignature", "trustedKeys"}; an unknown field is an error.
Result<HostConfiguration> parse_configuration(std::string_view text);

// A file that is not there is the default configuration.
Result<HostConfiguration> load_configuration(const std::filesystem::path& file);

// The configuration as `open` gets it, canonical, once it fits the manifest's configSchema. Errors
// name the place and what would be right.
Result<std::string> open_configuration(const Manifest& manifest,
                                       const ProviderConfiguration& configuration);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_CONFIGURATION_H_
