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
#include "core/os/fd.h"
#include "core/registry/clauses.h"
#include "core/registry/inspect.h"
#include "tools/berth/commands.h"
#include "tools/berth/conformance_request.h"
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
  report(context, Failure{Exit::kUsage, Error(ErrorKind::kInvalidArgument, sentence)});
  return kConformanceUsage;
}

boost::json::object to_json(const Case& one) {
  return {{"id", one.id},           {"slug", one.slug},
          {"clause", one.clause},   {"profile", conformance::to_string(one.profile)},
          {"sentence", one.sentence}, {"capability", one.capability}};
}

struct Report {
  std::string kind;
  std::filesystem::path file;
};

Result<std::vector<Report>> parse_reports(const std::vector<std::string>& texts) {
  std::vector<Report> out;
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const bool known = kind == "json" || kind == "junit" || kind == "html";
    if (colon == std::string::npos || !known || colon + 1 == text.size())
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("--report '{}' is not json:FILE, junit:FILE or html:FILE",
                              text.substr(0, 64)));
    out.push_back({kind, text.substr(colon + 1)});
  }
  return out;
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

Status write_report(const Report& where, const RunReport& report) {
  const std::string text = where.kind == "junit"  ? to_junit(report)
                           : where.kind == "html" ? to_html(report)
                                                  : to_json_text(to_json(report)) + "\n";
  return os::replace_file(where.file, text, 0644);
}

// Under a debugger: one case, in this process, without limits. Never returns once the case has begun.
int run_here(const Context& context, const conformance::RunRequest& request,
             const std::vector<const Case*>& cases) {
  if (cases.size() != 1)
    return usage(context, fmt::format("--in-process runs one case, and --only matches {}", cases.size()));
  context.console.note("no isolation: a provider that crashes or hangs takes this process with it");
  const auto one = conformance::request_for(request, *cases.front());
  if (!one) return usage(context, one.error().message());
  return conformance::run_case_here(encode(*one), 1);
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
    provider = registry::inspect(options.file);
    if (!provider->manifest)
      co_return usage(context, fmt::format("{} is no provider: see 'berth provider inspect'", options.file));
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
  const Case* one = conformance::find_case(options.id);
  const registry::Clause* clause =
      registry::find_clause(one != nullptr ? one->clause : std::string_view(options.id));
  if (clause == nullptr)
    co_return usage(context, fmt::format("'{}' is no case and no clause; see 'berth conformance list'",
                                         options.id.substr(0, 64)));
  std::string text = registry::explain(*clause);
  for (const Case& other : conformance::all_cases())
    if (other.clause == clause->id)
      text += fmt::format("\ncase {} {}\n  {}.\n", other.id, other.slug, other.sentence);
  co_return to_int(context.console.print(text));
}

Task<int> run_conformance(Context& context, ConformanceRunOptions options) {
  const auto reports = parse_reports(options.reports);
  if (!reports) co_return usage(context, reports.error().message());
  auto request = conformance_request(context, options);
  if (!request) {
    report(context, request.error());
    co_return kConformanceUsage;
  }
  const std::vector<const Case*> cases = conformance::chosen(*request);
  if (cases.empty())
    co_return usage(context, "no case matches --only and --skip; see 'berth conformance list'");
  if (options.in_process) co_return run_here(context, *request, cases);
  request->on_result = [&context](const CaseResult& one, std::size_t done, std::size_t all) {
    context.console.progress(fmt::format("{} of {}: {} {}", done, all, one.id, to_string(one.status)));
  };
  auto ran = co_await conformance::run_cases(context.executor, std::move(*request), context.cancellation);
  context.console.clear_progress();
  if (!ran) {
    report(context, Failure{Exit::kInternal, ran.error()});
    co_return kConformanceHarness;
  }
  keep(context, *ran);
  for (const Report& where : *reports) {
    const Status written = write_report(where, *ran);
    if (written) continue;
    report(context, Failure{Exit::kOutput, written.error()});
    co_return kConformanceHarness;
  }
  const Exit printed = context.common.json ? print_json(context.console, to_json(*ran))
                                           : context.console.print(describe(*ran, options.file));
  if (printed != Exit::kSuccess) co_return to_int(printed);
  if (context.cancellation.requested()) co_return exit_of_signal(context.interrupted_by);
  co_return ran->exit_code();
}

}  // namespace berth::cli
