// The catalogue: every provider file this host can see and what it thinks of each. Runs nothing.
#ifndef BERTH_CORE_REGISTRY_CATALOGUE_H_
#define BERTH_CORE_REGISTRY_CATALOGUE_H_

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/registry/configuration.h"
#include "core/registry/lock_file.h"
#include "core/registry/quarantine.h"
#include "core/registry/search.h"

namespace berth::registry {

enum class Standing { kUsable, kShadowed, kRefused, kDisabled, kQuarantined };
std::string_view to_string(Standing standing);

struct CatalogueEntry {
  Inspection inspection;
  Standing standing = Standing::kRefused;
  Findings findings;  // those of the inspection, of trust and of quarantine together
  std::optional<QuarantineEntry> quarantine;
  std::vector<std::string> unmet_requirements;  // variables that are not set, in sentences
  Hosting hosting = Hosting::kWorker;
};

struct Catalogue {
  SearchPath search;
  std::vector<CatalogueEntry> entries;
  std::vector<std::string> skipped;  // what looks like a provider file and was left out, and why
};

Catalogue list_providers(const SearchPath& search, const HostConfiguration& configuration,
                         const LockFile& lock, Quarantine& quarantine);

boost::json::value to_json(const Catalogue& catalogue);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_CATALOGUE_H_
