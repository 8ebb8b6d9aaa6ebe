// Which capabilities of a provider can be used here, and what is missing where one cannot.
#ifndef BERTH_CORE_PLUGIN_CAPABILITIES_H_
#define BERTH_CORE_PLUGIN_CAPABILITIES_H_

#include <vector>

#include "core/lifecycle/provider.h"
#include "core/plugin/load.h"
#include "core/registry/configuration.h"
#include "core/registry/manifest.h"

namespace berth::plugin {

// One row for every capability of the contract, in the contract's order. The binding has checked
// that each extension of the manifest has its table.
std::vector<CapabilityRow> capability_table(const registry::Manifest& manifest,
                                            const registry::ProviderConfiguration& configuration,
                                            const ProbeReport& probe);

// Capabilities the probe reports and the manifest does not claim.
std::vector<std::string> unclaimed(const registry::Manifest& manifest, const ProbeReport& probe);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_CAPABILITIES_H_
