// berth templates: the keepers of this user, which hold providers and what they made ahead between runs.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/plugin/keeper.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"

namespace berth::cli {
namespace {

constexpr Duration kAnswerPatience = std::chrono::seconds(5);
constexpr Duration kStopPatience = std::chrono::seconds(10);

using KeeperReports = std::vector<plugin::KeeperReport>;

struct Wanted {
  std::filesystem::path folder;     // where keepers are; empty: nowhere
  std::filesystem::path state_dir;  // empty: of all
};

Tried<Wanted> wanted_by(const Context& context) {
  Wanted wanted;
  auto folder = choose_keeper_dir(context.environment);
  if (folder) wanted.folder = std::move(*folder);
  if (context.common.state_dir.empty()) return wanted;
  auto state_dir = choose_state_dir(context.common.state_dir, context.environment);
  if (!state_dir) return failed(Exit::kState, std::move(state_dir).error());
  wanted.state_dir = std::move(*state_dir);
  return wanted;
}

std::int64_t number(const plugin::KeeperReport& report, const char* name) {
  const auto* found = report.document.if_contains(name);
  const auto* value = found == nullptr ? nullptr : found->if_int64();
  return value == nullptr ? 0 : *value;
}

std::string text(const plugin::KeeperReport& report, const char* name) {
  return json_string(report.document, name, "keeper").value_or("");
}

std::string describe(const plugin::KeeperReport& report) {
  if (!report.problem.empty()) return report.problem + "\n";
  const std::string made_ahead = text(report, "made_ahead");
  const std::string going = text(report, "going_because");
  const std::int64_t hosts = number(report, "hosts");
  const std::int64_t left = std::max<std::int64_t>(number(report, "idle_seconds") - number(report, "unused_seconds"), 0);
  std::string line = fmt::format("{}  {}  (process {}, since {})\n", report.provider,
                                 report.state_dir.string(), report.pid, text(report, "started_at"));
  if (!made_ahead.empty()) line += fmt::format("    {}\n", made_ahead);
  line += fmt::format("    {} runs so far, {} now; ", number(report, "served"), hosts);
  if (report.gone) return line + "gone\n";
  if (!going.empty()) return line + fmt::format("goes with the last of them: {}\n", going);
  return line + (hosts > 0 ? "in use\n" : fmt::format("goes in {} s unless it is used\n", left));
}

Exit print(const Context& context, const Wanted& wanted, const KeeperReports& reports, bool stopped) {
  if (context.common.json) {
    boost::json::array keepers;
    for (const plugin::KeeperReport& report : reports) {
      boost::json::object item = report.document;
      if (stopped) item["gone"] = report.gone;
      keepers.push_back(std::move(item));
    }
    boost::json::object document;
    document["folder"] = wanted.folder.string();
    document["keepers"] = std::move(keepers);
    return print_json(context.console, std::move(document));
  }
  std::string lines;
  for (const plugin::KeeperReport& report : reports) lines += describe(report);
  if (lines.empty()) {
    context.console.note(stopped ? "no keeper to stop" : "no keeper; the next 'berth run' starts one");
    return Exit::kSuccess;
  }
  return context.console.print(printable(lines));
}

int end_with(const Context& context, const Wanted& wanted, Result<KeeperReports> reports, bool stopped) {
  if (!reports) return report(context, {Exit::kState, reports.error()});
  if (!stopped && !wanted.state_dir.empty()) {
    std::erase_if(*reports, [&](const auto& one) { return one.problem.empty() && !one.serves(wanted.state_dir); });
  }
  const Exit printed = print(context, wanted, *reports, stopped);
  if (printed != Exit::kSuccess) return to_int(printed);
  const bool good = std::all_of(reports->begin(), reports->end(), [&](const auto& one) {
    return one.problem.empty() && (!stopped || one.gone);
  });
  return to_int(good && (stopped || !reports->empty()) ? Exit::kSuccess : Exit::kFinding);
}

}  // namespace

Task<int> show_templates(Context& context, TemplatesStatusOptions) {
  auto wanted = wanted_by(context);
  if (!wanted) co_return report(context, wanted.error());
  Result<KeeperReports> found = KeeperReports();
  if (!wanted->folder.empty()) found = plugin::ask_keepers(wanted->folder, kAnswerPatience);
  co_return end_with(context, *wanted, std::move(found), false);
}

Task<int> stop_templates(Context& context, TemplatesStopOptions) {
  auto wanted = wanted_by(context);
  if (!wanted) co_return report(context, wanted.error());
  Result<KeeperReports> found = KeeperReports();
  if (!wanted->folder.empty()) {
    found = plugin::stop_keepers(wanted->folder, wanted->state_dir, kStopPatience);
  }
  co_return end_with(context, *wanted, std::move(found), true);
}

}  // namespace berth::cli
