#include "core/plugin/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdlib>

#include "core/os/folder.h"
#include "core/os/rotating_file.h"
#include "core/plugin/capabilities.h"
#include "core/plugin/hosted_provider.h"
#include "core/plugin/kept_source.h"
#include "core/plugin/provider_host.h"
#include "core/plugin/sources.h"
#include "core/registry/clauses.h"

namespace berth::plugin {
namespace {

using registry::Findings;
using registry::Severity;

struct Facts {
  registry::Manifest manifest;
  registry::ProviderConfiguration configuration;
  std::filesystem::path file;
  std::string digest;
  registry::Hosting hosting = registry::Hosting::kWorker;
  Findings warnings;
  ProbeReport probe;
  Scope scope;
  std::vector<CapabilityRow> capabilities;
};

class Loaded final : public LoadedProvider {
 public:
  // `source` is the host's own, borrowed; null when it is not one that may be kept.
  Loaded(std::shared_ptr<ProviderHost> host, std::unique_ptr<Facts> facts, const KeptSource* source)
      : host_(std::move(host)), facts_(std::move(facts)), source_(source),
        provider_(host_, identity(*facts_)) {}
  ~Loaded() override { host_->kill(); }

  Provider& provider() override { return provider_; }
  const registry::Manifest& manifest() const override { return facts_->manifest; }
  const std::filesystem::path& file() const override { return facts_->file; }
  registry::Hosting hosting() const override { return facts_->hosting; }
  const ProbeReport& probe_report() const override { return facts_->probe; }
  const Scope& scope() const override { return facts_->scope; }
  const std::vector<CapabilityRow>& capabilities() const override { return facts_->capabilities; }
  const Findings& warnings() const override { return facts_->warnings; }
  std::vector<std::string> violations() const override { return host_->violations(); }
  bool kept() const override { return source_ != nullptr && source_->kept(); }
  std::vector<int> worker_pids() const override { return host_->worker_pids(); }
  Task<void> close(Instant deadline) override { return host_->close(deadline); }

  Status require(std::string_view capability) const override {
    for (const CapabilityRow& row : facts_->capabilities) {
      if (row.id != capability) continue;
      if (row.effective()) return {};
      return fail(ErrorKind::kRefused, fmt::format("capability {} cannot be used with provider {}: {}",
                                                   capability, facts_->manifest.id, row.missing));
    }
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("\"{}\" is no capability of contract version 1", capability));
  }

  Facts& facts() { return *facts_; }

 private:
  static ProviderIdentity identity(const Facts& facts) {
    return {facts.manifest.id, facts.manifest.version, facts.digest, facts.manifest.recovery,
            facts.manifest.streams};
  }

  std::shared_ptr<ProviderHost> host_;
  std::unique_ptr<Facts> facts_;
  const KeptSource* const source_;
  HostedProvider provider_;
};

void step(const LoadRequest& request, std::string_view text) {
  if (request.on_progress) request.on_progress(text);
}

Result<std::filesystem::path> choose_file(const LoadRequest& request) {
  if (!request.file.empty()) return request.file;
  if (request.id.empty())
    return fail(ErrorKind::kInvalidArgument, "name a provider, or a provider's file");
  const registry::ProviderConfiguration own = request.configuration.of(request.id);
  if (!own.file.empty()) return own.file;
  const bool given = !request.search.folders.empty() || !request.search.ignored.empty();
  return registry::find_by_id(given ? request.search : registry::default_search_path(), request.id);
}

// Everything that can be decided before any of its code runs.
Result<std::unique_ptr<Facts>> judge(const LoadRequest& request, registry::Inspection& inspection) {
  Findings findings = inspection.findings;
  const std::string what = fmt::format("provider file {}", inspection.path.string());
  if (inspection.manifest) {
    const registry::Manifest& manifest = *inspection.manifest;
    if (!request.id.empty() && manifest.id != request.id)
      findings.push_back({Severity::kRefusal, registry::clause::kManifest,
                          fmt::format("id {}", manifest.id),
                          fmt::format("a request for provider {}", request.id),
                          "name the file of the provider that is meant"});
    registry::check_trust(request.lock, request.configuration, manifest.id, manifest.version,
                          inspection.digest, findings);
  }
  if (registry::refuses(findings)) return fail(registry::refusal(what, findings));
  auto facts = std::make_unique<Facts>();
  facts->manifest = *inspection.manifest;
  facts->configuration = request.configuration.of(facts->manifest.id);
  facts->file = inspection.path;
  facts->digest = inspection.digest;
  facts->hosting = request.hosting.value_or(facts->configuration.hosting);
  facts->warnings = std::move(findings);
  if (!facts->configuration.enabled)
    return fail(ErrorKind::kRefused,
                fmt::format("provider {0} is disabled; set configuration.providers.{0}.enabled",
                            facts->manifest.id));
  const auto unmet = registry::unmet_requirements(
      facts->manifest, [](const std::string& name) { return std::getenv(name.c_str()); });
  if (!unmet.empty())
    return fail(ErrorKind::kUnavailable,
                fmt::format("provider {} lacks what it needs from the environment: {}",
                            facts->manifest.id, fmt::join(unmet, "; ")));
  return facts;
}

Result<std::string> prepare_state_dir(const std::filesystem::path& folder) {
  if (folder.empty()) return std::string();
  BERTH_CHECK_OK(os::make_private_folders(folder));
  std::error_code error;
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error)
    return fail(ErrorKind::kIo, fmt::format("cannot make the provider's state folder {}: {}",
                                            folder.string(), error.message()));
  return folder.string();
}

// Writes to the file and passes on. A log that cannot be written is said once and is no reason to do
// without the provider.
std::function<void(LogLevel, std::string_view)> log_to(const LoadRequest& request) {
  if (request.log_file.empty()) return request.on_log;
  (void)os::make_private_folders(request.log_file.parent_path());
  auto file = std::make_shared<os::RotatingFile>(request.log_file, kProviderLogBytesMax);
  auto broken = std::make_shared<bool>(false);
  return [file, broken, next = request.on_log](LogLevel level, std::string_view line) {
    if (next) next(level, line);
    if (*broken) return;
    const WallTime at = std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
    const Status written = file->append(fmt::format("{} {} {}", to_rfc3339(at), to_string(level), line));
    if (written) return;
    *broken = true;
    if (next)
      next(LogLevel::kWarn, fmt::format("the provider's log is kept no longer: {}", written.error().message()));
  };
}

Error not_done(const Facts& facts, std::string_view slot, const Outcome& outcome) {
  return Error(ErrorKind::kUnavailable,
               fmt::format("provider {} cannot be used: {} ended {} ({}): {}", facts.manifest.id,
                           slot, to_string(outcome.outcome_class), to_string(outcome.code),
                           outcome.message));
}

// One that may hold secrets is this host's alone.
bool may_be_kept(const LoadRequest& request, const Facts& facts) {
  return request.keeping && !request.state_dir.empty() && facts.manifest.declared_variables().empty();
}

// What the provider says of itself must be what its manifest announced.
Status check_scope(const Facts& facts) {
  std::vector<std::string> fields;
  for (const auto& [field, value] : facts.scope) fields.push_back(field);
  if (fields == facts.manifest.scope_fields) return {};
  return fail(registry::refusal(
      "provider " + facts.manifest.id,
      {{Severity::kRefusal, "SCOPE-001",
        fmt::format("scope fields {}", fmt::join(facts.manifest.scope_fields, ", ")),
        fmt::format("a scope with the fields {}", fmt::join(fields, ", ")),
        "report the manifest's scopeFields in their order"}}));
}

Task<Status> ask(Loaded& loaded, Duration patience) {
  Facts& facts = loaded.facts();
  OperationContext context;
  context.deadline = std::chrono::steady_clock::now() + patience;
  auto probed = co_await loaded.provider().probe(context);
  if (!probed.outcome.done()) co_return fail(not_done(facts, "probe", probed.outcome));
  facts.probe = std::move(probed.value);
  for (const std::string& id : unclaimed(facts.manifest, facts.probe))
    facts.warnings.push_back({Severity::kWarning, registry::clause::kProbeClaimed, "",
                              fmt::format("its probe reports {}, which its manifest does not claim", id),
                              "claim it, or do not report it; it is never used"});
  context.deadline = std::chrono::steady_clock::now() + patience;
  auto scope = co_await loaded.provider().scope(context);
  if (!scope.outcome.done()) co_return fail(not_done(facts, "scope", scope.outcome));
  facts.scope = std::move(scope.value);
  BERTH_CO_CHECK_OK(check_scope(facts));
  facts.capabilities = capability_table(facts.manifest, facts.configuration, facts.probe);
  co_return Status{};
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
  }
  return "error";
}

Task<Result<std::unique_ptr<LoadedProvider>>> load_provider(boost::asio::any_io_executor executor,
                                                            LoadRequest request) {
  step(request, "looking for the file");
  BERTH_CO_TRY(const std::filesystem::path file, choose_file(request));
  step(request, "reading the file");
  registry::ProviderImage image = registry::take_image(file);
  BERTH_CO_TRY(std::unique_ptr<Facts> facts, judge(request, image.inspection));
  SourcePlan plan;
  BERTH_CO_TRY(plan.config_json,
               registry::open_configuration(facts->manifest, facts->configuration));
  HostSettings settings;
  settings.limits = request.limits;
  settings.concurrency = facts->manifest.concurrency_per_provider;
  settings.concurrency_per_sandbox = facts->manifest.concurrency_per_sandbox;
  settings.on_log = log_to(request);
  settings.open.config_json = plan.config_json;
  settings.open.owner_tag = request.owner_tag;
  BERTH_CO_TRY(settings.open.state_dir, prepare_state_dir(request.state_dir));

  const bool in_worker = facts->hosting == registry::Hosting::kWorker;
  if (in_worker) {
    if (request.worker.empty()) {
      BERTH_CO_TRY(plan.worker, find_worker());
    } else {
      plan.worker = request.worker;
    }
  }
  const Duration patience = request.limits.open_deadline;
  plan.image = std::move(image);
  plan.limits = request.limits;
  plan.quarantine = request.quarantine;
  const auto warnings = plan.warnings;
  plan.on_progress = request.on_progress;
  std::unique_ptr<ChannelSource> source;
  KeptSource* kept = nullptr;
  if (in_worker && may_be_kept(request, *facts)) {
    auto made = kept_source(executor, std::move(plan), {*request.keeping, settings.open, settings.on_log});
    kept = made.get();
    source = std::move(made);
  } else {
    source = in_worker ? worker_source(executor, std::move(plan))
                       : direct_source(executor, std::move(plan));
  }
  auto host = std::make_shared<ProviderHost>(executor, std::move(source), std::move(settings));
  auto loaded = std::make_unique<Loaded>(host, std::move(facts), kept);
  step(request, "opening it");
  const Instant deadline = std::chrono::steady_clock::now() + request.limits.load_deadline + patience;
  Status opened = co_await host->open(deadline);
  // A keeper that is lost at this point has done nothing for this host yet.
  if (!opened && kept != nullptr && kept->kept()) opened = co_await host->open(deadline);
  BERTH_CO_CHECK_OK(std::move(opened));
  auto& all = loaded->facts().warnings;
  all.insert(all.end(), warnings->begin(), warnings->end());
  step(request, "asking what works here");
  Status asked = co_await ask(*loaded, patience);
  if (!asked && kept != nullptr && kept->kept()) asked = co_await ask(*loaded, patience);
  BERTH_CO_CHECK_OK(std::move(asked));
  co_return std::unique_ptr<LoadedProvider>(std::move(loaded));
}

boost::json::value to_json(const LoadedProvider& loaded) {
  namespace json = boost::json;
  json::array capabilities;
  for (const CapabilityRow& row : loaded.capabilities())
    capabilities.push_back(json::object{{"id", row.id},
                                        {"claimed", row.claimed},
                                        {"granted", row.granted},
                                        {"probed", row.probed},
                                        {"backed", row.backed},
                                        {"effective", row.effective()},
                                        {"missing", row.missing}});
  json::array items;
  for (const ProbeItem& item : loaded.probe_report().items)
    items.push_back(json::object{{"name", item.name},
                                 {"ok", item.ok},
                                 {"detail", item.detail},
                                 {"remedy", item.remedy}});
  json::object scope;
  for (const auto& [field, value] : loaded.scope()) scope[field] = value;
  json::array violations;
  for (const std::string& violation : loaded.violations()) violations.emplace_back(violation);
  return json::object{
      {"manifest", loaded.manifest().document},
      {"file", loaded.file().string()},
      {"hosting", loaded.hosting() == registry::Hosting::kWorker ? "worker" : "in-process"},
      {"usable", loaded.probe_report().usable},
      {"backend", loaded.probe_report().backend},
      {"items", std::move(items)},
      {"capabilities", std::move(capabilities)},
      {"scope", std::move(scope)},
      {"warnings", to_json(loaded.warnings())},
      {"violations", std::move(violations)}};
}

}  // namespace berth::plugin
