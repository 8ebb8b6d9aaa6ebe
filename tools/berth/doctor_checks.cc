#include "tools/berth/doctor_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/execution/execution.h"
#include "core/plugin/keeper.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

using Verdict = Check::Verdict;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kFreeBytesMin = 256 * kMiB;

constexpr std::string_view kPythonProbe = R"(
import importlib.metadata, importlib.util, json, platform
found = {}
for name in ("numpy", "pandas", "matplotlib", "sympy", "yfinance"):
    if importlib.util.find_spec(name) is None:
        found[name] = None
    else:
        found[name] = importlib.metadata.version(name)
fonts = None
if found["matplotlib"]:
    from matplotlib import font_manager
    fonts = sorted({f.name for f in font_manager.fontManager.ttflist if "CJK" in f.name})[:3]
print(json.dumps({"version": platform.python_version(), "packages": found, "cjk": fonts}))
)";

constexpr std::string_view kJavascriptProbe =
    "console.log(JSON.stringify({version: process.version}));\n";

// Where the packages that programs expect come from on Debian; empty: not there.
std::string_view debian_package(std::string_view module) {
  if (module == "numpy") return "python3-numpy";
  if (module == "pandas") return "python3-pandas";
  if (module == "matplotlib") return "python3-matplotlib";
  if (module == "sympy") return "python3-sympy";
  return {};
}

ExecutionRequest probe_request(Language language, std::string_view code) {
  ExecutionRequest request;
  request.title = "doctor";
  request.code = code;
  request.language = language;
  request.timeout = std::chrono::seconds(60);
  request.key = {user_name(), "doctor", random_hex(16)};
  return request;
}

// The last line of the program's output as JSON, or nothing with the check that says why.
Task<std::optional<boost::json::object>> run_probe(Context& context, LifecycleServices& services,
                                                   ExecutionRequest request,
                                                   const std::string& group,
                                                   std::string_view name, Checks& checks) {
  const ExecutionResult result =
      co_await execute(services, std::move(request), nullptr, context.cancellation);
  if (result.status == ExecutionStatus::kCompleted) {
    if (auto parsed = parse_json(result.stdout_text.text); parsed && parsed->is_object()) {
      co_return parsed->get_object();
    }
  }
  const std::string why = result.failure ? result.failure->message : result.message;
  checks.push_back({Verdict::kMissing, group, std::string(name), "a small program did not run: " + why,
                    "mend what is missing above; berth run shows the same failure"});
  co_return std::nullopt;
}

void check_package(const std::string& group, const std::string& module,
                   const boost::json::value& version, bool has_index, Checks& checks) {
  if (version.is_string()) {
    checks.push_back({Verdict::kGood, group, module, std::string(version.get_string()), {}});
    return;
  }
  if (has_index) {
    checks.push_back({Verdict::kNote, group, module,
                      "not there: fetched from the package index whenever a program imports it", {}});
    return;
  }
  const std::string_view package = debian_package(module);
  checks.push_back({Verdict::kNote, group, module,
                    "not there, and no package index is configured: programs that import it fail",
                    package.empty()
                        ? "set python.indexUrl in the configuration; Debian has no package of it"
                        : fmt::format("apt-get install {}, or set python.indexUrl in the configuration",
                                      package)});
}

void check_python(const std::string& group, const boost::json::object& found, bool has_index,
                  Checks& checks) {
  checks.push_back({Verdict::kGood, group, "python",
                    json_string(found, "version", group).value_or("?"), {}});
  if (const auto packages = json_object(found, "packages", group)) {
    for (const auto& [module, version] : **packages) {
      check_package(group, std::string(module), version, has_index, checks);
    }
  }
  const auto* fonts = found.if_contains("cjk");
  const auto* list = fonts == nullptr ? nullptr : fonts->if_array();
  if (list != nullptr && !list->empty() && list->front().is_string()) {
    checks.push_back({Verdict::kGood, group, "fonts for CJK",
                      std::string(list->front().get_string()), {}});
  } else {
    checks.push_back({Verdict::kNote, group, "fonts for CJK",
                      "none: Chinese, Japanese and Korean text in figures shows as boxes",
                      "apt-get install fonts-noto-cjk"});
  }
}

// What the provider's own probe said of `name` under its name; its word for two of them is its own.
std::string_view probe_name(std::string_view name) {
  if (name == "python") return "python3";
  if (name == "fonts for CJK") return "fonts";
  return name;
}

// A program in a sandbox knows better than the provider's probe, and this host knows of its package index; where
// both speak of a thing, the probe's line goes. What no program could find out stays with the probe. `first`: of
// the checks that programs made.
void name_once(Checks& checks, const std::string& group, std::size_t first) {
  std::set<std::string, std::less<>> said;
  for (std::size_t i = first; i < checks.size(); ++i)
    if (checks[i].verdict != Verdict::kMissing) said.emplace(probe_name(checks[i].name));
  std::erase_if(checks, [&](const Check& check) { return check.group == group && said.contains(check.name); });
}

}  // namespace

void check_state_folder(const std::filesystem::path& dir, Checks& checks) {
  checks.push_back({Verdict::kGood, "host", "state folder", dir.string(), {}});
  struct statvfs space {};
  if (::statvfs(dir.c_str(), &space) == 0) {
    const std::uint64_t free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
    const bool enough = free_bytes >= kFreeBytesMin;
    checks.push_back({enough ? Verdict::kGood : Verdict::kMissing, "host", "free space",
                      fmt::format("{} MiB", free_bytes / kMiB),
                      enough ? "" : fmt::format("free some space, or use --state-dir on another "
                                                "file system; {} MiB are wanted",
                                                kFreeBytesMin / kMiB)});
  }
}

Task<void> check_store(Store& store, Checks& checks) {
  IntentFilter filter;
  filter.unresolved_only = true;
  const auto open = co_await read_intents(store, filter);
  if (!open) {
    checks.push_back({Verdict::kMissing, "host", "store", open.error().message(),
                      "the message says what to do"});
  } else {
    checks.push_back({open->empty() ? Verdict::kGood : Verdict::kNote, "host", "store",
                      open->empty() ? "opens; nothing is unresolved"
                                    : fmt::format("opens; {} calls are unresolved or running",
                                                  open->size()),
                      open->empty() ? "" : "berth reconcile"});
  }
}

void check_keepers(const Context& context, const std::filesystem::path& state_dir, Checks& checks) {
  constexpr Duration kAnswerPatience = std::chrono::seconds(2);
  const auto folder = choose_keeper_dir(context.environment);
  const auto found = folder ? plugin::ask_keepers(*folder, kAnswerPatience)
                            : Result<std::vector<plugin::KeeperReport>>(fail(folder.error()));
  if (!found) {
    checks.push_back({Verdict::kNote, "host", "keeper", "none is used: " + found.error().message(),
                      "set XDG_RUNTIME_DIR to a folder of yours with mode 700, or do without"});
    return;
  }
  bool any = false;
  for (const plugin::KeeperReport& report : *found) {
    const bool ours = report.serves(state_dir);
    if (!ours && report.problem.empty()) continue;
    any = true;
    checks.push_back({report.problem.empty() ? Verdict::kGood : Verdict::kNote, "host", "keeper",
                      report.problem.empty()
                          ? fmt::format("process {} for provider {}", report.pid, report.provider)
                          : report.problem,
                      report.problem.empty() ? "" : "end that process"});
  }
  if (!any) checks.push_back({Verdict::kGood, "host", "keeper", "none; 'berth run' starts one", {}});
}

bool check_environment(const registry::Manifest& manifest, Checks& checks) {
  const std::string group = "provider " + manifest.id;
  const auto variable = [](const std::string& name) { return std::getenv(name.c_str()); };
  // Each requirement by itself, and each way to meet it.
  const auto unmet = [&](const registry::EnvRequirement& requirement) {
    registry::Manifest part;
    part.env_requirements = {requirement};
    return registry::unmet_requirements(part, variable);
  };
  bool all_met = true;
  for (const registry::EnvRequirement& requirement : manifest.env_requirements) {
    const auto met = std::find_if(
        requirement.options.begin(), requirement.options.end(), [&](const auto& option) {
          registry::EnvRequirement one = requirement;
          one.options = {option};
          return unmet(one).empty();
        });
    if (met != requirement.options.end()) {
      checks.push_back({Verdict::kGood, group, "environment",
                        fmt::format("{} {} set", fmt::join(*met, " and "), met->size() == 1 ? "is" : "are"),
                        {}});
      continue;
    }
    all_met = false;
    for (const std::string& sentence : unmet(requirement))
      checks.push_back({Verdict::kMissing, group, "environment", "what it needs is not set", sentence});
  }
  return all_met;
}

Task<void> check_made_ahead(const HostedProvider& provider, Checks& checks) {
  constexpr Duration kListPatience = std::chrono::seconds(20);
  OperationContext context;
  context.deadline = std::chrono::steady_clock::now() + kListPatience;
  auto listed = co_await provider.services.provider.list_owned(std::move(context), provider.services.host_tag);
  std::map<std::string, int> held;
  for (const Listed& item : listed.value)
    if (item.name.empty() && !item.holder.empty()) ++held[item.holder];
  for (const auto& [holder, count] : held) {
    checks.push_back({Verdict::kGood, "provider " + provider.loaded->manifest().id, "made ahead",
                      fmt::format("{}, held by {}", count, holder), {}});
  }
}

void check_probe(const plugin::LoadedProvider& provider, Checks& checks) {
  const std::string group = "provider " + provider.manifest().id;
  const ProbeReport& report = provider.probe_report();
  checks.push_back({report.usable ? Verdict::kGood : Verdict::kMissing, group, "usable",
                    report.backend.empty() ? provider.file().string() : report.backend,
                    report.usable ? "" : "mend what is missing below"});
  // A part that is missing although the provider is usable is one that someone may miss.
  const Verdict lacking = report.usable ? Verdict::kNote : Verdict::kMissing;
  for (const ProbeItem& item : report.items) {
    checks.push_back({item.ok ? Verdict::kGood : lacking, group, item.name, item.detail,
                      item.ok ? "" : item.remedy});
  }
  for (const plugin::CapabilityRow& row : provider.capabilities()) {
    if (!row.claimed) continue;
    checks.push_back({row.effective() ? Verdict::kGood : Verdict::kNote, group, row.id,
                      row.effective() ? "claimed, granted, probed and backed" : row.missing, {}});
  }
}

Task<void> check_languages(Context& context, const HostedProvider& provider, bool has_index,
                           Checks& checks) {
  LifecycleServices services = provider.services;
  services.billing = nullptr;
  services.price = Money::micros(0);
  const std::string id = provider.loaded->manifest().id;
  const std::size_t first = checks.size();
  const std::string python = "python in " + id;
  ExecutionRequest python_request = probe_request(Language::kPython, kPythonProbe);
  const auto python_found =
      co_await run_probe(context, services, std::move(python_request), python, "python", checks);
  if (python_found) check_python(python, *python_found, has_index, checks);
  const std::string javascript = "javascript in " + id;
  ExecutionRequest node_request = probe_request(Language::kJavascript, kJavascriptProbe);
  const auto node_found =
      co_await run_probe(context, services, std::move(node_request), javascript, "node", checks);
  if (node_found) {
    checks.push_back({Verdict::kGood, javascript, "node",
                      json_string(*node_found, "version", javascript).value_or("?"), {}});
  }
  name_once(checks, "provider " + id, first);
}

}  // namespace berth::cli
