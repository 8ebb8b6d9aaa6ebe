// berth conformance: whether a provider keeps the contract, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/conformance/case.h"
#include "core/conformance/child.h"
#include "core/conformance/runner.h"
#include "core/os/fd.h"
#include "core/plugin/sources.h"
#include "core/registry/clauses.h"
#include "core/registry/inspect.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

using conformance::Case;
using conformance::CaseResult;
using conformance::Profile;
using conformance::RunReport;

// The exit codes of this command are its own, whatever the others use.
constexpr int kExitUsage = 2;
constexpr int kExitHarness = 4;

Profile profile_of(const std::string& text) {
  if (text == "smoke") return Profile::kSmoke;
  return text == "stress" ? Profile::kStress : Profile::kFull;
}

int usage(const Context& context, const std::string& sentence) {
  report(context, Failure{Exit::kUsage, Error(ErrorKind::kInvalidArgument, sentence)});
  return kExitUsage;
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

Result<conformance::RunRequest> to_request(const ConformanceRunOptions& options,
                                           const Settings& settings) {
  conformance::RunRequest request;
  request.file = options.file;
  const registry::Inspection inspection = registry::inspect(options.file);
  if (inspection.manifest) {
    BERTH_TRY(request.config_json,
              registry::open_configuration(*inspection.manifest,
                                           settings.registry.of(inspection.manifest->id)));
  }
  std::error_code error;
  request.program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorKind::kInternal, "this program does not know its own file");
  BERTH_TRY(request.worker, plugin::find_worker());
  request.profile = profile_of(options.profile);
  request.only = options.only;
  request.skip = options.skip;
  request.allow = options.allow;
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  request.at_once = options.at_once != 0 ? options.at_once : processors;
  request.seed = options.seed.empty() ? std::stoull(random_hex(7), nullptr, 16)
                                      : std::strtoull(options.seed.c_str(), nullptr, 10);
  char* end = nullptr;
  request.time_scale = std::strtod(options.time_scale.c_str(), &end);
  if (*end != '\0' || !(request.time_scale >= 0.05 && request.time_scale <= 100))
    return fail(ErrorKind::kInvalidArgument, "--timeout-scale is a number from 0.05 to 100");
  return request;
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
  return text + fmt::format("\n{}\n", report.tally());
}

Status write_report(const Report& where, const RunReport& report) {
  const std::string text = where.kind == "junit"  ? to_junit(report)
                           : where.kind == "html" ? to_html(report)
                                                  : to_json_text(to_json(report)) + "\n";
  return os::replace_file(where.file, text, 0644);
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
  auto settings = read_settings(context);
  if (!settings) {
    report(context, settings.error());
    co_return kExitUsage;
  }
  const auto reports = parse_reports(options.reports);
  if (!reports) co_return usage(context, reports.error().message());
  std::error_code error;
  if (!std::filesystem::exists(options.file, error))
    co_return usage(context, fmt::format("there is no file {}", options.file));
  auto request = to_request(options, *settings);
  if (!request) co_return usage(context, request.error().message());
  if (conformance::chosen(*request).empty())
    co_return usage(context, "no case matches --only and --skip; see 'berth conformance list'");
  request->on_result = [&context](const CaseResult& one, std::size_t done, std::size_t all) {
    context.console.progress(fmt::format("{} of {}: {} {}", done, all, one.id, to_string(one.status)));
  };
  auto ran = co_await conformance::run_cases(context.executor, std::move(*request), context.cancellation);
  context.console.clear_progress();
  if (!ran) {
    report(context, Failure{Exit::kInternal, ran.error()});
    co_return kExitHarness;
  }
  for (const Report& where : *reports) {
    const Status written = write_report(where, *ran);
    if (written) continue;
    report(context, Failure{Exit::kOutput, written.error()});
    co_return kExitHarness;
  }
  const Exit printed = context.common.json ? print_json(context.console, to_json(*ran))
                                           : context.console.print(describe(*ran, options.file));
  if (printed != Exit::kSuccess) co_return to_int(printed);
  if (context.cancellation.requested()) co_return exit_of_signal(context.interrupted_by);
  co_return ran->exit_code();
}

}  // namespace berth::cli
