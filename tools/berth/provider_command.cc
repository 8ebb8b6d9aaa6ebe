// berth provider list and inspect: what can be told of providers without running any of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/conformance/evidence.h"
#include "core/registry/catalogue.h"
#include "core/registry/inspect.h"
#include "tools/berth/commands.h"
#include "tools/berth/conformance_request.h"
#include "tools/berth/host.h"
#include "tools/berth/paths.h"
#include "tools/berth/provider_subject.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

using registry::Catalogue;
using registry::CatalogueEntry;
using registry::Inspection;
using registry::Standing;

std::string capabilities_of(const registry::Manifest& manifest) {
  std::vector<std::string> ids;
  for (const registry::CapabilityClaim& claim : manifest.capabilities) ids.push_back(claim.id);
  return ids.empty() ? "base" : fmt::format("base {}", fmt::join(ids, " "));
}

using Reports = std::vector<std::optional<conformance::RunReport>>;

// What was shown about each file, in the catalogue's order.
Reports find_reports(const Context& context, const Catalogue& catalogue) {
  Reports out(catalogue.entries.size());
  const auto folder = evidence_folder(context);
  if (!folder) return out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = conformance::find_evidence(*folder, catalogue.entries[i].inspection.digest);
  return out;
}

// Beside each claim whether it was shown on exactly this file.
std::string evidence_of(const registry::Manifest& manifest, const std::optional<conformance::RunReport>& report) {
  std::string text = fmt::format("base: {}", conformance::standing_of(report, ""));
  for (const registry::CapabilityClaim& claim : manifest.capabilities)
    text += fmt::format("; {}: {}", claim.id, conformance::standing_of(report, claim.id));
  return text;
}

boost::json::value to_document(const Catalogue& catalogue, const Reports& reports) {
  boost::json::value document = to_json(catalogue);
  boost::json::array& providers = document.as_object()["providers"].as_array();
  for (std::size_t i = 0; i < catalogue.entries.size() && i < providers.size(); ++i) {
    const auto& manifest = catalogue.entries[i].inspection.manifest;
    if (!manifest) continue;
    boost::json::object shown{{"base", conformance::standing_of(reports[i], "")}};
    for (const registry::CapabilityClaim& claim : manifest->capabilities)
      shown[claim.id] = conformance::standing_of(reports[i], claim.id);
    providers[i].as_object()["conformance"] = std::move(shown);
  }
  return document;
}

std::string describe(const Catalogue& catalogue, const Reports& reports) {
  std::string text = "searched, in this order:\n";
  for (const auto& folder : catalogue.search.folders) {
    text += fmt::format("  {}\n", printable(folder.string()));
  }
  for (const std::string& reason : catalogue.search.ignored) {
    text += fmt::format("  not used: {}\n", printable(reason));
  }
  for (const std::string& reason : catalogue.skipped) {
    text += fmt::format("  skipped: {}\n", printable(reason));
  }
  text += "\n";
  Table table({"ID", "VERSION", "STANDING", "HOSTING", "CAPABILITIES", "FILE"});
  for (const CatalogueEntry& entry : catalogue.entries) {
    const auto& manifest = entry.inspection.manifest;
    table.add({manifest ? manifest->id : "", manifest ? manifest->version : "",
               std::string(to_string(entry.standing)),
               entry.hosting == registry::Hosting::kWorker ? "worker" : "in-process",
               manifest ? capabilities_of(*manifest) : "", entry.inspection.path.string()});
  }
  text += table.empty() ? "no provider was found\n" : table.take();
  for (std::size_t i = 0; i < catalogue.entries.size(); ++i) {
    const Inspection& inspection = catalogue.entries[i].inspection;
    if (inspection.manifest && inspection.loadable())
      text += fmt::format("\nconformance of {}:\n  {}\n", printable(inspection.path.string()),
                          printable(evidence_of(*inspection.manifest, reports[i])));
  }
  for (const CatalogueEntry& entry : catalogue.entries) {
    const std::string path = printable(entry.inspection.path.string());
    for (const registry::Finding& finding : entry.findings) {
      text += fmt::format("\n{}:\n  {}\n", path, printable(registry::to_sentence(finding)));
    }
    for (const std::string& unmet : entry.unmet_requirements) {
      text += fmt::format("\n{}:\n  {}\n", path, printable(unmet));
    }
  }
  return text;
}

std::string describe(const Inspection& inspection) {
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    text += fmt::format("{:<14}{}\n", name, printable(value));
  };
  line("file", inspection.path.string());
  line("size", fmt::format("{} bytes", inspection.size_bytes));
  if (!inspection.digest.empty()) line("sha256", inspection.digest);
  if (inspection.manifest) {
    const registry::Manifest& manifest = *inspection.manifest;
    line("provider", fmt::format("{} {}, {}", manifest.id, manifest.version, manifest.title));
    line("vendor", fmt::format("{}, {}", manifest.vendor, manifest.license));
    line("contract", fmt::format("{}.{}, needs a host of at least {}.{}", manifest.abi.major,
                                 manifest.abi.minor, manifest.abi.major,
                                 manifest.abi.minor_required));
    line("capabilities", capabilities_of(manifest));
    line("languages", fmt::format("{}", fmt::join(manifest.languages, " ")));
    line("recovery", manifest.recovery == Recovery::kFence ? "fence" : "manual");
    line("concurrency", fmt::format("{} operations, {} in one sandbox",
                                    manifest.concurrency_per_provider,
                                    manifest.concurrency_per_sandbox));
  }
  for (const registry::Finding& finding : inspection.findings) {
    const bool refusal = finding.severity == registry::Severity::kRefusal;
    line(refusal ? "refused" : "warning", registry::to_sentence(finding));
  }
  line("verdict", inspection.loadable() ? "can be loaded" : "would be refused");
  return text;
}

}  // namespace

Task<int> list_providers(Context& context, ProviderListOptions) {
  auto settings = read_settings(context);
  if (!settings) co_return report(context, settings.error());
  auto files = read_provider_files(context, *settings);
  if (!files) co_return report(context, files.error());
  const Catalogue catalogue = registry::list_providers(files->search, settings->registry,
                                                       files->lock, *files->quarantine);
  std::string logs;
  if (const auto dir = choose_state_dir(context.common.state_dir, context.environment)) {
    logs = fmt::format("\nwhat providers say is kept in {}\n", printable((*dir / "logs").string()));
  }
  const Reports reports = find_reports(context, catalogue);
  const Exit printed = context.common.json
                           ? print_json(context.console, to_document(catalogue, reports))
                           : context.console.print(describe(catalogue, reports) + logs);
  if (printed != Exit::kSuccess) co_return to_int(printed);
  const bool finding = std::any_of(
      catalogue.entries.begin(), catalogue.entries.end(), [](const CatalogueEntry& entry) {
        return entry.standing == Standing::kRefused || entry.standing == Standing::kQuarantined;
      });
  co_return to_int(finding ? Exit::kFinding : Exit::kSuccess);
}

Task<int> inspect_provider(Context& context, ProviderInspectOptions options) {
  auto path = find_subject(options.subject, registry::default_search_path());
  if (!path) co_return report(context, path.error());
  const Inspection inspection = registry::inspect(*path);
  const Exit printed = context.common.json ? print_json(context.console, to_json(inspection))
                                           : context.console.print(describe(inspection));
  if (printed != Exit::kSuccess) co_return to_int(printed);
  co_return to_int(inspection.loadable() ? Exit::kSuccess : Exit::kFinding);
}

}  // namespace berth::cli
