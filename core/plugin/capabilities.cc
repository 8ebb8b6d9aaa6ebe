#include "core/plugin/capabilities.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::plugin {
namespace {

std::string missing_link(const CapabilityRow& row, const registry::Manifest& manifest,
                         const std::string& reason) {
  if (!row.claimed) return fmt::format("provider {} does not claim it", manifest.id);
  if (!row.backed)
    return fmt::format("provider {} has no table {}", manifest.id, registry::extension_of(row.id));
  if (!row.granted)
    return fmt::format("it is not granted; add it to configuration.providers.{}.grants", manifest.id);
  if (!row.probed)
    return fmt::format("it does not work here: {}",
                       reason.empty() ? "the provider's probe does not report it" : reason);
  return {};
}

}  // namespace

std::vector<CapabilityRow> capability_table(const registry::Manifest& manifest,
                                            const registry::ProviderConfiguration& configuration,
                                            const ProbeReport& probe) {
  std::vector<CapabilityRow> rows;
  for (const std::string_view id : registry::all_capabilities()) {
    CapabilityRow row;
    row.id = id;
    row.claimed = std::any_of(manifest.capabilities.begin(), manifest.capabilities.end(),
                              [&](const auto& claim) { return claim.id == id; });
    row.granted = configuration.grants_capability(id);
    const std::string_view table = registry::extension_of(id);
    row.backed = table.empty() || std::find(manifest.extensions.begin(), manifest.extensions.end(),
                                            table) != manifest.extensions.end();
    const auto found = std::find_if(probe.capabilities.begin(), probe.capabilities.end(),
                                    [&](const auto& item) { return item.id == id; });
    row.probed = found != probe.capabilities.end() && found->available;
    row.missing = missing_link(row, manifest,
                               found == probe.capabilities.end() ? std::string() : found->reason);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> unclaimed(const registry::Manifest& manifest, const ProbeReport& probe) {
  std::vector<std::string> out;
  for (const CapabilityProbe& item : probe.capabilities)
    if (std::none_of(manifest.capabilities.begin(), manifest.capabilities.end(),
                     [&](const auto& claim) { return claim.id == item.id; }))
      out.push_back(item.id);
  return out;
}

}  // namespace berth::plugin
