#include "tools/berth/conformance_reports.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/os/fd.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

Result<ReportFile> parse_report(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool known = kind == "json" || kind == "junit" || kind == "html";
  if (colon == std::string::npos || !known || colon + 1 == text.size())
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("--report '{}' is not json:FILE, junit:FILE or html:FILE",
                            to_valid_utf8(text.substr(0, 64))));
  return ReportFile{kind, text.substr(colon + 1)};
}

bool same_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  const fs::path first = fs::weakly_canonical(one, error);
  return !error && first == fs::weakly_canonical(other, error) && !error;
}

// By doing what the writing will begin with: rights, a read-only disk and a missing folder all show.
Status can_be_written(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  // A device would be replaced by a file, not written to.
  if (fs::exists(there) && !fs::is_regular_file(there))
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("--report: {} is there and is no ordinary file", path.string()));
  const std::string beside = fmt::format("{}.{}", path.string(), random_hex(8));
  const os::Fd made(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.valid()) return fail(os_error(errno, fmt::format("--report: cannot write {}", path.string())));
  ::unlink(beside.c_str());
  return {};
}

}  // namespace

Result<std::vector<ReportFile>> parse_reports(const std::vector<std::string>& texts) {
  std::vector<ReportFile> out;
  for (const std::string& text : texts) {
    BERTH_TRY(ReportFile one, parse_report(text));
    for (const ReportFile& other : out)
      if (same_file(one.path, other.path))
        return fail(ErrorKind::kInvalidArgument,
                    fmt::format("--report: {}:{} and {}:{} are one file; each report needs its own", other.kind,
                                other.path.string(), one.kind, one.path.string()));
    BERTH_CHECK_OK(can_be_written(one.path));
    out.push_back(std::move(one));
  }
  return out;
}

Status write_report(const ReportFile& where, const conformance::RunReport& report) {
  const std::string text = where.kind == "junit"  ? to_junit(report)
                           : where.kind == "html" ? to_html(report)
                                                  : to_json_text(to_json(report)) + "\n";
  return os::replace_file(where.path, text, 0644);
}

}  // namespace berth::cli
