#include "tools/berth/conformance_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/conformance/scratch.h"
#include "core/plugin/sources.h"
#include "core/registry/clauses.h"
#include "core/registry/inspect.h"
#include "tools/berth/case_names.h"
#include "tools/berth/host.h"
#include "tools/berth/provider_subject.h"

namespace berth::cli {
namespace {

// What this host holds against the file, whatever the provider is like. [TRUST-001]
registry::Findings findings_of(const ProviderFiles& files, const Settings& settings,
                               const registry::Inspection& inspection) {
  registry::Findings findings;
  if (!inspection.manifest) return findings;
  registry::check_trust(files.lock, settings.registry, inspection.manifest->id,
                        inspection.manifest->version, inspection.digest, findings);
  const auto entry = files.quarantine->find(inspection.digest);
  if (entry && entry->quarantined)
    findings.push_back({registry::Severity::kRefusal, registry::clause::kQuarantine, "",
                        fmt::format("this digest is in quarantine: {}", entry->reason),
                        "mend the provider, or lift the quarantine"});
  return findings;
}

Status take_options(const ConformanceRunOptions& options, conformance::RunRequest& request) {
  BERTH_CHECK_OK(check_case_names(options));
  request.profile = options.profile == "smoke"    ? conformance::Profile::kSmoke
                    : options.profile == "stress" ? conformance::Profile::kStress
                                                  : conformance::Profile::kFull;
  request.only = options.only;
  request.skip = options.skip;
  for (const std::string& id : options.allow) request.allow.push_back(as_id(id));
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  request.at_once = options.at_once != 0 ? options.at_once : processors;
  if (options.seed.empty()) {
    request.seed = std::strtoull(random_hex(7).c_str(), nullptr, 16);
  } else {
    BERTH_TRY(request.seed, parse_seed("--seed", options.seed));
  }
  char* end = nullptr;
  request.time_scale = std::strtod(options.time_scale.c_str(), &end);
  if (*end != '\0' || !(request.time_scale >= 0.05 && request.time_scale <= 100))
    return fail(ErrorKind::kInvalidArgument, "--timeout-scale is a number from 0.05 to 100");
  return {};
}

}  // namespace

Result<std::uint64_t> parse_seed(std::string_view option, std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("{} '{}' is no seed: a report prints it as a whole number", option,
                            to_valid_utf8(text.substr(0, 64))));
  return seed;
}

Result<std::filesystem::path> evidence_folder(const Context& context) {
  BERTH_TRY(const std::filesystem::path state,
            choose_state_dir(context.common.state_dir, context.environment));
  return state / "conformance";
}

Result<conformance::RunRequest> conformance_request(const Context& context,
                                                    const ConformanceRunOptions& options) {
  conformance::RunRequest request;
  BERTH_CHECK_OK(take_options(options, request));
  auto settings = read_settings(context);
  if (!settings) return fail(settings.error().error);
  auto files = read_provider_files(context, *settings);
  if (!files) return fail(files.error().error);
  auto file = find_subject(options.file, files->search);
  if (!file) return fail(file.error().error);
  std::error_code error;
  if (!std::filesystem::exists(*file, error))
    return fail(ErrorKind::kNotFound, fmt::format("there is no file {}", file->string()));
  request.file = *file;
  const registry::Inspection inspection = registry::inspect(*file);
  request.host_findings = findings_of(*files, *settings, inspection);
  if (inspection.manifest) {
    BERTH_TRY(request.config_json,
              registry::open_configuration(*inspection.manifest,
                                           settings->registry.of(inspection.manifest->id)));
  }
  request.program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorKind::kInternal, "this program does not know its own file");
  BERTH_TRY(request.worker, plugin::find_worker());
  return request;
}

Task<void> sweep(Context& context, const conformance::RunRequest& request) {
  const conformance::Swept swept =
      co_await conformance::sweep_dead_runs(context.executor, request, context.cancellation);
  if (swept.runs > 0)
    context.console.note(fmt::format("cleaned up after {} that {} killed",
                                     swept.runs == 1 ? "a run of the kit" : std::to_string(swept.runs) + " runs of the kit",
                                     swept.runs == 1 ? "was" : "were"));
  for (const std::string& problem : swept.problems)
    context.console.note("a run of the kit was killed, and what it left is not known to be gone: " + printable(problem));
}

}  // namespace berth::cli
