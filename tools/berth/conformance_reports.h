// What `--report KIND:FILE` asks for: read, shown to be possible before anything runs, and written.
#ifndef BERTH_TOOLS_BERTH_CONFORMANCE_REPORTS_H_
#define BERTH_TOOLS_BERTH_CONFORMANCE_REPORTS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/conformance/results.h"

namespace berth::cli {

struct ReportFile {
  std::string kind;  // json, junit or html
  std::filesystem::path path;
};

// Refuses unknown kinds, two reports in one file, and a file that could not be written: a run takes minutes, and
// its report is what it was for.
Result<std::vector<ReportFile>> parse_reports(const std::vector<std::string>& texts);

Status write_report(const ReportFile& where, const conformance::RunReport& report);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CONFORMANCE_REPORTS_H_
