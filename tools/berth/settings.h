// The host's configuration file: one JSON object, strict and bounded.
//
//   {
//     "provider": "local",                  the default of --provider; berth.json goes before it
//     "priceMicroUsd": 50000,               of a completed execution
//     "limits": {"memory": "1G", "disk": "2G", "cpus": "2", "processes": 128, "timeout": "60s"},
//     "deadlines": {"call": "5m", "create": "60s", "cleanup": "30s", "lifetime": "10m"},
//     "retention": {"results": "30d"},      recorded results, which replays are answered from
//     "billing": {"kind": "credits", "initialGrantMicroUsd": 500000},
//     "documents": {"run": true},           whether saved documents may be run
//     "templates": {"keep": true, "idle": "5m"},  whether runs share a keeper, and how long it stays
//     "python": {"indexUrl": ...},         see package_settings.h
//     "providers": {...}, "requireLock": ..., "requireSignature": ..., "trustedKeys": {...}
//   }
//
// Everything may be missing. The last line belongs to core/registry/configuration.h. Errors name
// the file and the path of what is wrong, and never repeat a value from `providers`.
#ifndef BERTH_TOOLS_BERTH_SETTINGS_H_
#define BERTH_TOOLS_BERTH_SETTINGS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/accounting/credits.h"
#include "core/base/money.h"
#include "core/execution/install/package_index.h"
#include "core/lifecycle/with_sandbox.h"
#include "core/registry/configuration.h"
#include "tools/berth/options.h"
#include "tools/berth/paths.h"

namespace berth::cli {

struct Settings {
  std::filesystem::path file;  // empty: none was read
  std::string provider = "local";
  bool selects_provider = false;      // the document names it
  std::filesystem::path selected_by;  // the file that names it, this one or berth.json; empty: none
  Money price = Money::micros(50'000);
  LimitOptions limits;              // what a run gets when its command line says nothing
  std::optional<Duration> timeout;
  LifecycleLimits deadlines;
  Duration result_retention = std::chrono::days(30);
  std::optional<CreditsConfig> credits;  // nothing: usage is recorded, nothing is debited
  bool run_documents = true;
  bool keep_templates = true;
  Duration keeper_idle = std::chrono::minutes(5);
  PackageIndex packages;
  registry::HostConfiguration registry;
};

Result<Settings> parse_settings(std::string_view text);
Result<Settings> load_settings(const ConfigPlace& place);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_SETTINGS_H_
