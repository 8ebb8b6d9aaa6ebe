// berth conformance compare: what became better or worse between two reports.
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <string>

#include "core/conformance/comparison.h"
#include "core/os/fd.h"
#include "tools/berth/commands.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

using conformance::Change;
using conformance::ChangedCase;
using conformance::Comparison;
using conformance::RunReport;

constexpr std::size_t kReportBytesMax = std::size_t{16} << 20;

Result<RunReport> read_report(const std::string& file) {
  auto text = os::read_file(file, kReportBytesMax);
  if (!text) return fail(text.error());
  auto parsed = conformance::parse_report(*text);
  if (!parsed)
    return fail(parsed.error().with(
        fmt::format("{} is no report: make one with 'berth conformance run --report json:FILE'", file)));
  return parsed;
}

std::string heading_of(const RunReport& report, const std::string& file) {
  return fmt::format("{}: {} {}, sha256 {}, profile {}{}\n", printable(file), printable(report.provider),
                     printable(report.version), printable(report.digest).substr(0, 12), printable(report.profile),
                     report.whole ? "" : ", not every case");
}

std::string word_of(std::optional<conformance::CaseStatus> status) {
  return status ? std::string(to_string(*status)) : "not there";
}

std::string describe(const Comparison& comparison) {
  std::string text;
  if (!comparison.changed.empty()) {
    Table table({"CHANGE", "CASE", "BEFORE", "AFTER", "WHAT WAS SEEN"});
    for (const ChangedCase& one : comparison.changed)
      table.add({std::string(to_string(one.change)), one.id, word_of(one.before), word_of(one.after),
                 one.text.substr(0, one.text.find('\n'))});
    text += "\n" + table.take();
  }
  return text + fmt::format("\n{} worse, {} better, {} different, {} as before\n", comparison.count(Change::kWorse),
                            comparison.count(Change::kBetter), comparison.count(Change::kDifferent),
                            comparison.same);
}

boost::json::object identity_of(const RunReport& report) {
  return {{"provider", report.provider}, {"version", report.version}, {"digest", report.digest},
          {"profile", report.profile},   {"whole", report.whole},     {"refusal", report.refusal}};
}

}  // namespace

Task<int> compare_conformance(Context& context, ConformanceCompareOptions options) {
  const auto before = read_report(options.before);
  const auto after = before ? read_report(options.after) : before;
  if (!after) co_return report(context, after.error(), kConformanceUsage);
  // Neither is the other's past: what one lacks, the other has not lost. A file without a manifest has no id.
  if (before->provider != after->provider && !before->provider.empty() && !after->provider.empty()) {
    const std::string sentence =
        fmt::format("{} is about the provider '{}' and {} about '{}': better and worse are said of one provider",
                    options.before, before->provider, options.after, after->provider);
    co_return report(context, Error(ErrorKind::kInvalidArgument, printable(sentence)), kConformanceUsage);
  }
  const Comparison comparison = conformance::compare(*before, *after);
  boost::json::value document = to_json(comparison);
  document.as_object()["before"] = identity_of(*before);
  document.as_object()["after"] = identity_of(*after);
  const Exit printed =
      context.common.json
          ? print_json(context.console, document)
          : context.console.print(heading_of(*before, options.before) + heading_of(*after, options.after) +
                                  describe(comparison));
  if (printed != Exit::kSuccess) co_return to_int(printed);
  co_return comparison.count(Change::kWorse) > 0 || (before->refusal.empty() && !after->refusal.empty())
      ? kConformanceBad
      : kConformanceGood;
}

}  // namespace berth::cli
