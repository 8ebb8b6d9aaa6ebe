// berth provider compare: providers side by side, what each claims and what was shown of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/conformance/evidence.h"
#include "core/registry/catalogue.h"
#include "core/registry/inspect.h"
#include "tools/berth/commands.h"
#include "tools/berth/conformance_request.h"
#include "tools/berth/host.h"
#include "tools/berth/provider_subject.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

struct Subject {
  registry::Manifest manifest;
  std::filesystem::path file;
  std::optional<conformance::RunReport> report;
};

std::string manifest_word(const registry::Manifest& manifest, std::string_view field) {
  const auto* value = manifest.document.if_contains(boost::json::string_view(field.data(), field.size()));
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "not said";
}

std::string languages(const registry::Manifest& manifest) {
  return fmt::format("{}", fmt::join(manifest.languages, " "));
}
std::string cancellation(const registry::Manifest& manifest) {
  return manifest_word(manifest, "cancellation");
}
std::string output(const registry::Manifest& manifest) {
  return manifest.streams == Streams::kSeparate ? "two streams, files" : "one merged stream, files";
}
std::string identity(const registry::Manifest& manifest) {
  return fmt::format("{}", fmt::join(manifest.scope_fields, " "));
}
std::string cleanup(const registry::Manifest& manifest) {
  const char* recovery = manifest.recovery == Recovery::kFence ? "fence" : "manual";
  return fmt::format("{}, {}", manifest_word(manifest, "cleanup"), recovery);
}
std::string accounting(const registry::Manifest&) { return "receipt from the host"; }
std::string concurrency(const registry::Manifest& manifest) {
  return fmt::format("{}, {} in a sandbox", manifest.concurrency_per_provider,
                     manifest.concurrency_per_sandbox);
}
std::string extras(const registry::Manifest& manifest) {
  std::vector<std::string> ids;
  for (const registry::CapabilityClaim& claim : manifest.capabilities) ids.push_back(claim.id);
  return ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, " "));
}

struct Aspect {
  std::string_view name;
  std::string_view key;  // in the JSON
  std::string (*claim)(const registry::Manifest&);
  std::string_view areas;  // of the clauses whose cases show it, as CONTRACT.md groups them
};

constexpr std::array kAspects = {
    Aspect{"languages", "languages", languages, "LANG RUN"},
    Aspect{"deadline and cancellation", "cancellation", cancellation, "CANC"},
    Aspect{"output and files", "output", output, "STRM FILE"},
    Aspect{"identity before creation", "identity", identity, "KEY SCOPE"},
    Aspect{"cleanup after restart", "cleanup", cleanup, "CLEAN FENCE FAULT"},
    Aspect{"accounting", "accounting", accounting, "USE OUT"},
    Aspect{"operations at once", "concurrency", concurrency, "CONC"},
    Aspect{"capabilities besides", "capabilities", extras, "EXT"},
};

struct Shown {
  std::size_t passed = 0;
  std::size_t bad = 0;
  std::size_t skipped = 0;
};

bool is_of(std::string_view areas, std::string_view clause) {
  const std::string_view area = clause.substr(0, clause.find('-'));
  while (!areas.empty()) {
    const auto end = std::min(areas.find(' '), areas.size());
    if (areas.substr(0, end) == area) return true;
    areas.remove_prefix(std::min(end + 1, areas.size()));
  }
  return false;
}

Shown count(const conformance::RunReport& report, std::string_view areas) {
  Shown out;
  for (const conformance::CaseResult& result : report.cases) {
    if (!is_of(areas, result.clause)) continue;
    if (conformance::is_bad(result.status)) ++out.bad;
    else if (conformance::is_skip(result.status)) ++out.skipped;
    else ++out.passed;
  }
  return out;
}

std::string evidence_of(const Subject& subject, const Aspect& aspect) {
  if (!subject.report) return "not shown on this file";
  if (!subject.report->refusal.empty()) return "refused by the loader";
  const Shown shown = count(*subject.report, aspect.areas);
  const std::size_t ran = shown.passed + shown.bad;
  if (ran == 0) return "no case shows it";
  std::string text = shown.bad > 0 ? fmt::format("{} of {} cases FAILED", shown.bad, ran)
                                   : fmt::format("{} cases passed", shown.passed);
  if (shown.skipped > 0) text += fmt::format(", {} skipped", shown.skipped);
  return text;
}

std::string to_text(const std::vector<Subject>& subjects) {
  std::vector<std::string> head = {""};
  for (const Subject& subject : subjects)
    head.push_back(fmt::format("{} {}", subject.manifest.id, subject.manifest.version));
  Table table(std::move(head));
  for (const Aspect& aspect : kAspects) {
    std::vector<std::string> claims = {std::string(aspect.name)};
    std::vector<std::string> evidence = {"  shown"};
    for (const Subject& subject : subjects) {
      claims.push_back(aspect.claim(subject.manifest));
      evidence.push_back(evidence_of(subject, aspect));
    }
    table.add(std::move(claims));
    table.add(std::move(evidence));
  }
  return table.take();
}

boost::json::value to_document(const std::vector<Subject>& subjects) {
  boost::json::array providers;
  for (const Subject& subject : subjects) {
    boost::json::object aspects;
    for (const Aspect& aspect : kAspects) {
      boost::json::object one{{"claim", aspect.claim(subject.manifest)}};
      if (subject.report && subject.report->refusal.empty()) {
        const Shown shown = count(*subject.report, aspect.areas);
        one["evidence"] = boost::json::object{{"profile", subject.report->profile},
                                              {"passed", shown.passed},
                                              {"failed", shown.bad},
                                              {"skipped", shown.skipped}};
      } else {
        one["evidence"] = nullptr;
      }
      aspects[aspect.key] = std::move(one);
    }
    providers.push_back(boost::json::object{{"id", subject.manifest.id},
                                            {"version", subject.manifest.version},
                                            {"file", subject.file.string()},
                                            {"aspects", std::move(aspects)}});
  }
  return boost::json::object{{"providers", std::move(providers)}};
}

Tried<Subject> look_at(const registry::Inspection& inspection,
                       const std::filesystem::path& evidence) {
  if (!inspection.manifest || !inspection.loadable())
    return failed(Exit::kProvider,
                  Error(ErrorKind::kRefused,
                        fmt::format("{} is no provider that could be loaded; see 'berth provider "
                                    "inspect {}'",
                                    inspection.path.string(), inspection.path.string())));
  return Subject{*inspection.manifest, inspection.path,
                 conformance::find_evidence(evidence, inspection.digest)};
}

Tried<std::vector<Subject>> choose_subjects(const Context& context,
                                            const std::vector<std::string>& named) {
  auto settings = read_settings(context);
  if (!settings) return tl::unexpected<Failure>(std::move(settings).error());
  auto files = read_provider_files(context, *settings);
  if (!files) return tl::unexpected<Failure>(std::move(files).error());
  auto evidence = evidence_folder(context);
  if (!evidence) return failed(Exit::kState, std::move(evidence).error());
  std::vector<Subject> subjects;
  for (const std::string& name : named) {
    auto path = find_subject(name, files->search);
    if (!path) return tl::unexpected<Failure>(std::move(path).error());
    auto subject = look_at(registry::inspect(*path), *evidence);
    if (!subject) return tl::unexpected<Failure>(std::move(subject).error());
    subjects.push_back(std::move(*subject));
  }
  if (!named.empty()) return subjects;
  const registry::Catalogue catalogue = registry::list_providers(
      files->search, settings->registry, files->lock, *files->quarantine);
  for (const registry::CatalogueEntry& entry : catalogue.entries) {
    if (entry.standing != registry::Standing::kUsable) continue;
    auto subject = look_at(entry.inspection, *evidence);
    if (subject) subjects.push_back(std::move(*subject));
  }
  if (subjects.empty())
    return failed(Exit::kProvider,
                  Error(ErrorKind::kNotFound,
                        "no provider can be used here; 'berth provider list' says what was found"));
  return subjects;
}

}  // namespace

Task<int> compare_providers(Context& context, ProviderCompareOptions options) {
  const auto subjects = choose_subjects(context, options.subjects);
  if (!subjects) co_return report(context, subjects.error());
  co_return to_int(context.common.json ? print_json(context.console, to_document(*subjects))
                                       : context.console.print(to_text(*subjects)));
}

}  // namespace berth::cli
