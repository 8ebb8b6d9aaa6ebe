#include "core/registry/catalogue.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdlib>

#include "core/registry/clauses.h"

namespace berth::registry {

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::kUsable: return "usable";
    case Standing::kShadowed: return "shadowed";
    case Standing::kRefused: return "refused";
    case Standing::kDisabled: return "disabled";
    case Standing::kQuarantined: return "quarantined";
  }
  return "refused";
}

Catalogue list_providers(const SearchPath& search, const HostConfiguration& configuration,
                         const LockFile& lock, Quarantine& quarantine) {
  Catalogue out;
  out.search = search;
  for (Candidate& candidate : find_all(search, &out.skipped)) {
    CatalogueEntry entry;
    entry.inspection = std::move(candidate.inspection);
    entry.findings = entry.inspection.findings;
    bool enabled = true;
    if (const auto& manifest = entry.inspection.manifest) {
      check_trust(lock, configuration, manifest->id, manifest->version, entry.inspection.digest,
                  entry.findings);
      const ProviderConfiguration own = configuration.of(manifest->id);
      enabled = own.enabled;
      entry.hosting = own.hosting;
      entry.unmet_requirements =
          unmet_requirements(*manifest, [](const std::string& name) { return std::getenv(name.c_str()); });
    }
    entry.quarantine = quarantine.find(entry.inspection.digest);
    const bool quarantined = entry.quarantine && entry.quarantine->quarantined;
    entry.standing = candidate.shadowed         ? Standing::kShadowed
                     : quarantined              ? Standing::kQuarantined
                     : refuses(entry.findings)  ? Standing::kRefused
                     : !enabled                 ? Standing::kDisabled
                                                : Standing::kUsable;
    out.entries.push_back(std::move(entry));
  }
  return out;
}

boost::json::value to_json(const Catalogue& catalogue) {
  namespace json = boost::json;
  json::array folders;
  for (const auto& folder : catalogue.search.folders) folders.emplace_back(folder.string());
  json::array ignored;
  for (const auto& why : catalogue.search.ignored) ignored.emplace_back(why);
  json::array skipped;
  for (const auto& why : catalogue.skipped) skipped.emplace_back(why);
  json::array providers;
  for (const CatalogueEntry& entry : catalogue.entries) {
    json::object one = to_json(entry.inspection).get_object();
    one["standing"] = to_string(entry.standing);
    one["findings"] = to_json(entry.findings);
    one["hosting"] = entry.hosting == Hosting::kWorker ? "worker" : "in-process";
    json::array unmet;
    for (const auto& sentence : entry.unmet_requirements) unmet.emplace_back(sentence);
    one["unmetRequirements"] = std::move(unmet);
    if (entry.quarantine)
      one["crashesAtLoad"] = json::object{{"count", entry.quarantine->crashes},
                                          {"last", to_rfc3339(entry.quarantine->last_at)},
                                          {"reason", entry.quarantine->reason},
                                          {"quarantined", entry.quarantine->quarantined}};
    providers.emplace_back(std::move(one));
  }
  return json::object{{"searched", std::move(folders)},
                      {"notSearched", std::move(ignored)},
                      {"skipped", std::move(skipped)},
                      {"providers", std::move(providers)}};
}

}  // namespace berth::registry
