// berth doctor: what works on this machine, what does not, and how to mend it.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <utility>

#include "core/registry/catalogue.h"
#include "tools/berth/commands.h"
#include "tools/berth/doctor_checks.h"
#include "tools/berth/doctor_state.h"
#include "tools/berth/host.h"

namespace berth::cli {
namespace {

using Verdict = Check::Verdict;

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood: return "good";
    case Verdict::kNote: return "note";
    case Verdict::kMissing: return "missing";
  }
  return "";
}

std::string describe(const Checks& checks, bool colours) {
  std::string text;
  std::string group;
  for (const Check& check : checks) {
    if (check.group != group) {
      group = check.group;
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", group);
    }
    const char* colour = !colours                             ? ""
                         : check.verdict == Verdict::kGood    ? "\x1b[32m"
                         : check.verdict == Verdict::kMissing ? "\x1b[31m"
                                                              : "\x1b[33m";
    text += fmt::format("  {}{:<8}{}{:<18} {}\n", colour, word(check.verdict), colours ? "\x1b[0m" : "",
                        check.name, printable(check.detail));
    if (!check.remedy.empty()) text += fmt::format("{:>28} {}\n", "->", printable(check.remedy));
  }
  return text;
}

boost::json::object to_json(const Checks& checks) {
  boost::json::array items;
  for (const Check& check : checks) {
    boost::json::object item;
    item["ok"] = check.verdict != Verdict::kMissing;
    item["verdict"] = word(check.verdict);
    item["group"] = check.group;
    item["name"] = check.name;
    item["detail"] = check.detail;
    item["remedy"] = check.remedy;
    items.push_back(std::move(item));
  }
  return {{"checks", std::move(items)}};
}

// Programs run only with the provider that was asked for or is the default: another one's sandboxes
// may cost money.
Task<void> check_provider(Context& context, Host& host, std::string id,
                          const registry::Manifest* manifest, bool run_programs, Checks& checks) {
  // Before any of its code is loaded, and long before anything is made.
  if (manifest != nullptr && !check_environment(*manifest, checks)) co_return;
  auto loaded = co_await host.load(id, {});
  if (!loaded) {
    checks.push_back({Verdict::kMissing, "provider " + id, "loading",
                      loaded.error().error.message(), "berth provider inspect " + id});
    co_return;
  }
  const plugin::LoadedProvider& provider = *(*loaded)->loaded;
  check_probe(provider, checks);
  co_await check_made_ahead(**loaded, checks);
  if (!run_programs || !provider.probe_report().usable || !runs_programs(provider)) co_return;
  co_await check_languages(context, **loaded, host.settings().packages.any(), checks);
}

// The manifest of the provider that this host would use under an id; null: there is none.
const registry::Manifest* manifest_of(const registry::Catalogue& catalogue, const std::string& id) {
  for (const registry::CatalogueEntry& entry : catalogue.entries) {
    const auto& manifest = entry.inspection.manifest;
    if (manifest && manifest->id == id && entry.standing == registry::Standing::kUsable) return &*manifest;
  }
  return nullptr;
}

// The providers to look at: the one that was asked for, or every one this host would use.
std::vector<std::string> providers_to_examine(const DoctorOptions& options, const Settings& settings,
                                              const registry::Catalogue& catalogue, Checks& checks) {
  if (!options.provider.empty()) return {options.provider};
  std::vector<std::string> ids;
  for (const registry::CatalogueEntry& entry : catalogue.entries) {
    const auto& manifest = entry.inspection.manifest;
    const std::string name = manifest ? manifest->id : entry.inspection.path.string();
    if (entry.standing == registry::Standing::kUsable && manifest) {
      // Nobody misses a service that nobody selected.
      if (entry.unmet_requirements.empty() || manifest->id == settings.provider) {
        ids.push_back(manifest->id);
      } else {
        checks.push_back({Verdict::kNote, "provider " + name, "environment",
                          entry.unmet_requirements.front(), "set it to use this provider"});
      }
    } else if (entry.standing == registry::Standing::kRefused ||
               entry.standing == registry::Standing::kQuarantined) {
      checks.push_back({Verdict::kMissing, "provider " + name,
                        std::string(to_string(entry.standing)),
                        entry.findings.empty() ? "" : registry::to_sentence(entry.findings.front()),
                        "berth provider inspect " + entry.inspection.path.string()});
    }
  }
  if (std::find(ids.begin(), ids.end(), settings.provider) == ids.end()) {
    ids.push_back(settings.provider);  // its absence is then said by loading it
  }
  return ids;
}

void check_configuration(const Settings& settings, Checks& checks) {
  checks.push_back({Verdict::kGood, "host", "configuration",
                    settings.file.empty() ? "none; the defaults hold" : settings.file.string(), {}});
  checks.push_back({Verdict::kGood, "host", "provider",
                    fmt::format("{}, {}", settings.provider,
                                settings.selected_by.empty()
                                    ? "the default"
                                    : "selected by " + settings.selected_by.string()),
                    {}});
}

Task<void> check_providers(Context& context, const DoctorOptions& options, const Settings& settings,
                           ProviderFiles& files, Host& host, Checks& checks) {
  const registry::Catalogue catalogue = registry::list_providers(
      files.search, settings.registry, files.lock, *files.quarantine);
  for (const std::string& id : providers_to_examine(options, settings, catalogue, checks)) {
    if (context.cancellation.requested()) break;
    const bool run_programs = id == options.provider || id == settings.provider;
    co_await check_provider(context, host, id, manifest_of(catalogue, id), run_programs, checks);
  }
}

}  // namespace

Task<int> examine(Context& context, DoctorOptions options) {
  auto settings = read_settings(context);
  if (!settings) co_return report(context, settings.error());
  auto files = read_provider_files(context, *settings);
  if (!files) co_return report(context, files.error());
  Checks checks;
  check_configuration(*settings, checks);
  auto state = co_await DoctorState::open(context, checks);
  if (!state) co_return report(context, state.error());
  const auto dir = choose_state_dir(context.common.state_dir, context.environment);
  if (dir) check_keepers(context, *dir, checks);
  if (Host* const host = (*state)->host()) {
    co_await check_providers(context, options, *settings, *files, *host, checks);
  }
  co_await (*state)->close(checks);
  if (context.interrupted_by != 0) co_return exit_of_signal(context.interrupted_by);
  const Exit printed =
      context.common.json ? print_json(context.console, to_json(checks))
                          : context.console.print(describe(checks, context.console.colours_out()));
  if (printed != Exit::kSuccess) co_return to_int(printed);
  const bool missing = std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.verdict == Verdict::kMissing;
  });
  co_return to_int(missing ? Exit::kFinding : Exit::kSuccess);
}

}  // namespace berth::cli
