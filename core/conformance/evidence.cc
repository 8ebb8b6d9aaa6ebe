#include "core/conformance/evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/os/fd.h"
#include "core/os/folder.h"

namespace berth::conformance {
namespace {

constexpr std::size_t kReportBytesMax = std::size_t{16} << 20;

}  // namespace

Status keep_evidence(const std::filesystem::path& folder, const RunReport& report) {
  if (!report.whole || report.interrupted || report.digest.empty() || report.provider.empty()) return {};
  const auto kit_failed = [](const CaseResult& one) { return one.status == CaseStatus::kHarness; };
  if (std::any_of(report.cases.begin(), report.cases.end(), kit_failed)) return {};
  BERTH_CHECK_OK(os::make_private_folders(folder));
  return os::replace_file(folder / (report.digest + ".json"), to_json_text(to_json(report)) + "\n", 0600);
}

std::optional<RunReport> find_evidence(const std::filesystem::path& folder, std::string_view digest) {
  const auto text = os::read_file(folder / (std::string(digest) + ".json"), kReportBytesMax);
  if (!text) return std::nullopt;
  auto report = parse_report(*text);
  if (!report || report->digest != digest) return std::nullopt;
  return std::move(*report);
}

std::string standing_of(const std::optional<RunReport>& report, std::string_view capability) {
  if (!report) return "not run on this file";
  if (!report->refusal.empty()) return "refused";
  std::size_t good = 0;
  std::size_t bad = 0;
  std::size_t unshown = 0;
  for (const CaseResult& result : report->cases) {
    const Case* one = find_case(result.id);
    if (one == nullptr || one->capability != capability) continue;
    if (is_bad(result.status)) ++bad;
    else if (is_skip(result.status)) ++unshown;
    else ++good;
  }
  if (bad > 0) return fmt::format("{} cases failed", bad);
  if (good == 0) return "no case shows it";
  if (unshown > 0) return fmt::format("profile {}, {} not shown", report->profile, unshown);
  return fmt::format("profile {}", report->profile);
}

}  // namespace berth::conformance
