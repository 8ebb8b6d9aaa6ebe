// berth conformance: whether a provider keeps the contract, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/conformance/case.h"
#include "core/conformance/child.h"
#include "core/conformance/evidence.h"
#include "core/conformance/runner.h"
#include "core/conformance/scratch.h"
#include "core/registry/clauses.h"
#include "core/registry/inspect.h"
#include "core/registry/search.h"
#include "tools/berth/case_names.h"
#include "tools/berth/commands.h"
#include "tools/berth/conformance_reports.h"
#include "tools/berth/conformance_request.h"
#include "tools/berth/provider_subject.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

using conformance::Case;
using conformance::CaseResult;
using conformance::Profile;
using conformance::RunReport;

Profile profile_of(const std::string& text) {
  if (text == "smoke") return Profile::kSmoke;
  return text == "stress" ? Profile::kStress : Profile::kFull;
}

int usage(const Context& context, const std::string& sentence) {
  return report(context, Error(ErrorKind::kInvalidArgument, sentence), kConformanceUsage);
}

boost::json::object to_json(const Case& one) {
  return {{"id", one.id},           {"slug", one.slug},
          {"clause", one.clause},   {"profile", conformance::to_string(one.profile)},
          {"sentence", one.sentence}, {"capability", one.capability}};
}

std::string line_of(const CaseResult& one) {
  const Case* known = conformance::find_case(one.id);
  std::string line = fmt::format("{:<17}{} {}\n", to_string(one.status), one.id,
                                 known != nullptr ? known->slug : "");
  if (one.status == conformance::CaseStatus::kPass) return line;
  if (!one.text.empty()) line += fmt::format("    {}\n", printable(one.text));
  if (!is_bad(one.status)) return line;
  if (!one.operation.empty())
    line += fmt::format("    last begun: {}{}\n", printable(one.operation),
                        one.stage.empty() ? "" : fmt::format(", at stage \"{}\"", printable(one.stage)));
  for (const std::string& note : one.notes) line += fmt::format("    {}\n", printable(note));
  if (!one.printed.empty())
    line += fmt::format("    it printed: {}\n", printable(one.printed.substr(0, 400)));
  return line + fmt::format("    see: berth conformance explain {}\n", one.id);
}

std::string describe(const RunReport& report, const std::string& file) {
  std::string text = fmt::format("{} {}, {}\nsha256 {}\nprofile {}, seed {}, {}\n\n",
                                 printable(report.provider), printable(report.version),
                                 printable(report.file), report.digest, report.profile, report.seed,
                                 report.host);
  for (const CaseResult& one : report.cases) text += line_of(one);
  if (!report.refusal.empty())
    text += fmt::format("\nthe loader refuses it, so nothing else was run:\n{}\n",
                        printable(report.refusal));
  const bool bad = report.failed() > 0;
  if (bad && report.refusal.empty())
    text += fmt::format("\nagain, the same way: berth conformance run {} --seed {} --profile {}\n",
                        file, report.seed, report.profile);
  if (report.interrupted) text += "\ninterrupted: the cases that are not listed were not run to their end\n";
  return text + fmt::format("\n{}\n", report.tally());
}

// Under a debugger: one case, in this process, without limits. Never returns once the case has begun.
int run_here(const Context& context, const conformance::RunRequest& request,
             const std::vector<const Case*>& cases) {
  if (cases.size() != 1)
    return usage(context, fmt::format("--in-process runs one case, and --only matches {}", cases.size()));
  context.console.note("no isolation: a provider that crashes or hangs takes this process with it");
  const auto scratch = conformance::Scratch::make(request.scratch);
  if (!scratch) return usage(context, scratch.error().message());
  const conformance::CaseRequest one = conformance::request_for(request, *cases.front(), scratch->path());
  return conformance::run_case_here(encode(one), 1);
}

// What was shown about exactly this file is kept for 'berth provider list'.
void keep(const Context& context, const RunReport& report) {
  const auto folder = evidence_folder(context);
  const Status kept = folder ? conformance::keep_evidence(*folder, report) : Status(fail(folder.error()));
  if (!kept) context.console.note(fmt::format("the report is not kept as evidence: {}", kept.error().message()));
}

}  // namespace

Task<int> list_conformance(Context& context, ConformanceListOptions options) {
  std::optional<registry::Inspection> provider;
  if (!options.file.empty()) {
    const auto file = find_subject(options.file, registry::default_search_path());
    if (!file) co_return report(context, file.error().error, kConformanceUsage);
    provider = registry::inspect(*file);
    if (!provider->manifest)
      co_return report(context, registry::refusal(*file, provider->findings), kConformanceUsage);
  }
  boost::json::array all;
  Table table({"ID", "CLAUSE", "PROFILE", "CAPABILITY", "WHAT IT DOES"});
  for (const Case& one : conformance::all_cases()) {
    if (one.profile > profile_of(options.profile) ||
        (provider && !applies(one, *provider->manifest)))
      continue;
    all.push_back(to_json(one));
    table.add({fmt::format("{} {}", one.id, one.slug), std::string(one.clause),
               std::string(conformance::to_string(one.profile)), std::string(one.capability),
               std::string(one.sentence)});
  }
  const boost::json::object document{{"cases", std::move(all)}};
  co_return to_int(context.common.json ? print_json(context.console, document)
                                       : context.console.print(table.take()));
}

Task<int> explain_conformance(Context& context, ConformanceExplainOptions options) {
  const std::string id = as_id(options.id);
  const Case* one = conformance::find_case(id);
  const registry::Clause* clause = registry::find_clause(one != nullptr ? one->clause : std::string_view(id));
  if (clause == nullptr)
    co_return usage(context, fmt::format("'{}' is no case and no clause{}; see 'berth conformance list'",
                                         printable(options.id.substr(0, 64)), near_ids(id, Among::kBoth)));
  if (context.common.json) {
    boost::json::array cases;
    for (const Case& other : conformance::all_cases())
      if (other.clause == clause->id) cases.push_back(to_json(other));
    co_return to_int(print_json(context.console, {{"id", clause->id},
                                                  {"text", clause->text},
                                                  {"why", clause->why},
                                                  {"enforcedBy", clause->enforced_by},
                                                  {"remedy", clause->remedy},
                                                  {"cases", std::move(cases)}}));
  }
  std::string text = registry::explain(*clause);
  for (const Case& other : conformance::all_cases())
    if (other.clause == clause->id)
      text += fmt::format("\ncase {} {}\n  {}.\n", other.id, other.slug, other.sentence);
  co_return to_int(context.console.print(text));
}

Task<int> run_conformance(Context& context, ConformanceRunOptions options) {
  if (options.in_process && !options.reports.empty())
    co_return usage(context, "--in-process makes no report: it ends with its one case");
  auto request = conformance_request(context, options);
  if (!request) co_return report(context, request.error(), kConformanceUsage);
  const auto reports = parse_reports(options.reports);
  if (!reports) co_return report(context, reports.error(), kConformanceUsage);
  const std::vector<const Case*> cases = conformance::chosen(*request);
  if (cases.empty())
    co_return usage(context, "no case matches --only and --skip; see 'berth conformance list'");
  co_await sweep(context, *request);
  if (options.in_process) co_return run_here(context, *request, cases);
  request->on_result = [&context](const CaseResult& one, std::size_t done, std::size_t all) {
    context.console.progress(fmt::format("{} of {}: {} {}", done, all, one.id, to_string(one.status)));
  };
  auto ran = co_await conformance::run_cases(context.executor, std::move(*request), context.cancellation);
  context.console.clear_progress();
  if (!ran) co_return report(context, ran.error(), kConformanceHarness);
  keep(context, *ran);
  for (const ReportFile& where : *reports) {
    const Status written = write_report(where, *ran);
    if (!written) co_return report(context, written.error(), kConformanceHarness);
  }
  const Exit printed = context.common.json ? print_json(context.console, to_json(*ran))
                                           : context.console.print(describe(*ran, options.file));
  if (printed != Exit::kSuccess) co_return to_int(printed);
  if (context.cancellation.requested()) co_return exit_of_signal(context.interrupted_by);
  co_return ran->exit_code();
}

}  // namespace berth::cli
