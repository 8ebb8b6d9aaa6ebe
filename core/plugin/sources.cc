#include "core/plugin/sources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "core/os/process.h"
#include "core/plugin/direct_channel.h"
#include "core/plugin/worker_channel.h"
#include "core/registry/clauses.h"

namespace berth::plugin {
namespace {

namespace clause = registry::clause;

// What every process needs of its surroundings. Anything else a provider declares.
constexpr std::array<const char*, 17> kBaseVariables{
    "PATH",   "HOME",     "USER",         "LOGNAME",      "LANG",         "LC_ALL",
    "LC_CTYPE", "TZ",     "TMPDIR",       "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE"};

std::vector<std::string> reduced_environment(const registry::Manifest& manifest) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (const char* value = std::getenv(name.c_str())) out.push_back(name + "=" + value);
  };
  for (const char* name : kBaseVariables) add(name);
  for (const std::string& name : manifest.declared_variables()) add(name);
  return out;
}

void add_warnings(const SourcePlan& plan, const registry::Findings& findings) {
  for (const registry::Finding& finding : findings)
    if (finding.severity == registry::Severity::kWarning) plan.warnings->push_back(finding);
}

class WorkerSource final : public ChannelSource {
 public:
  WorkerSource(boost::asio::any_io_executor executor, SourcePlan plan)
      : executor_(std::move(executor)), plan_(std::move(plan)) {}

  bool restartable() const override { return true; }

  Task<Result<std::shared_ptr<Channel>>> make() override {
    BERTH_CO_CHECK_OK(check_quarantine());
    const WorkerPlan worker = worker_plan(plan_);
    if (plan_.on_progress) plan_.on_progress("starting its worker");
    BERTH_CO_TRY(auto channel, WorkerChannel::launch(executor_, worker));
    const Instant deadline = std::chrono::steady_clock::now() + plan_.limits.load_deadline;
    const WorkerChannel::Loading loading = co_await channel->loading(deadline);
    if (loading.loaded) {
      add_warnings(plan_, loading.findings);
      warn_of_printing(*channel);
      co_return std::static_pointer_cast<Channel>(channel);
    }
    channel->kill();
    if (loading.refused)
      co_return fail(registry::refusal(described(), loading.findings));
    co_return fail(crashed(loading.step, loading.why, *channel));
  }

  void opened(const Outcome& outcome) override {
    if (plan_.quarantine == nullptr) return;
    const std::string& digest = plan_.image.inspection.digest;
    // A count that cannot be written is no reason to do without the provider.
    if (outcome.done()) static_cast<void>(plan_.quarantine->record_success(digest));
    else if (outcome.code == OutcomeCode::kHostWorkerDied)
      count_crash("open", outcome.message);
  }

 private:
  std::string described() const {
    const registry::Inspection& inspection = plan_.image.inspection;
    return fmt::format("provider {} ({})", inspection.manifest->id, inspection.path.string());
  }

  Status check_quarantine() {
    if (plan_.quarantine == nullptr) return {};
    const auto entry = plan_.quarantine->find(plan_.image.inspection.digest);
    if (!entry || !entry->quarantined) return {};
    return fail(registry::refusal(
        described(),
        {{registry::Severity::kRefusal, clause::kQuarantine, "",
          fmt::format("this file crashed {} times while it was loaded and is in quarantine; the "
                      "last time: {}",
                      entry->crashes, entry->reason),
          "mend or replace the file, or lift the quarantine of this digest"}}));
  }

  void warn_of_printing(const WorkerChannel& channel) {
    if (channel.printed().empty()) return;
    plan_.warnings->push_back({registry::Severity::kWarning, clause::kEntry, "",
                               fmt::format("it prints while it is loaded: \"{}\"",
                                           channel.printed().front()),
                               "print nothing; use the host's log"});
  }

  std::string count_crash(const std::string& step, const std::string& why) {
    if (plan_.quarantine == nullptr) return {};
    const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
    const registry::Inspection& inspection = plan_.image.inspection;
    const auto entry = plan_.quarantine->record_crash(
        inspection.digest, inspection.manifest->id, fmt::format("{}: {}", step, why), now);
    if (!entry) return fmt::format("; the crash could not be counted: {}", entry.error().message());
    if (entry->quarantined)
      return fmt::format("; it is now in quarantine after {} crashes", entry->crashes);
    return fmt::format("; crash {} of {} before it goes into quarantine", entry->crashes,
                       registry::Quarantine::kCrashesMax);
  }

  Error crashed(const std::string& step, const std::string& why, const WorkerChannel& channel) {
    const bool loading = step.empty() || step == "loading the library";
    std::string found = fmt::format("it did not get past \"{}\": {}",
                                    step.empty() ? "starting its worker" : step, why);
    if (!channel.printed().empty() && found.find("it last printed") == std::string::npos)
      found += fmt::format("; it last printed: {}", channel.printed().back());
    found += count_crash(step, why);
    return registry::refusal(
        described(),
        {{registry::Severity::kRefusal, loading ? clause::kLoadTimeCode : clause::kEntry, "",
          std::move(found),
          loading ? "have no code that runs while the library is loaded; do everything in open"
                  : "answer at once and do nothing else; do everything in open"}});
  }

  boost::asio::any_io_executor executor_;
  SourcePlan plan_;
};

class DirectSource final : public ChannelSource {
 public:
  DirectSource(boost::asio::any_io_executor executor, SourcePlan plan)
      : executor_(std::move(executor)), plan_(std::move(plan)) {}

  bool restartable() const override { return false; }

  Task<Result<std::shared_ptr<Channel>>> make() override {
    const registry::Manifest& manifest = *plan_.image.inspection.manifest;
    DriverSettings settings;
    settings.config_json = plan_.config_json;
    settings.declared = manifest.declared_variables();
    settings.threads_max = manifest.concurrency_per_provider;
    for (const std::string& name : settings.declared)
      if (const char* value = std::getenv(name.c_str())) settings.variables.emplace(name, value);
    Claims claims;
    claims.extensions = manifest.extensions;
    claims.fences = manifest.recovery == Recovery::kFence;
    if (plan_.on_progress) plan_.on_progress("loading it into this process");
    auto channel = std::make_shared<DirectChannel>(executor_, std::move(settings));
    registry::Findings findings;
    if (!channel->load(std::move(plan_.image.memory), claims, findings))
      co_return fail(registry::refusal(
          fmt::format("provider {} ({})", manifest.id, plan_.image.inspection.path.string()),
          findings));
    add_warnings(plan_, findings);
    co_return std::static_pointer_cast<Channel>(channel);
  }

  void opened(const Outcome&) override {}

 private:
  boost::asio::any_io_executor executor_;
  SourcePlan plan_;
};

}  // namespace

WorkerPlan worker_plan(const SourcePlan& plan) {
  const registry::Manifest& manifest = *plan.image.inspection.manifest;
  WorkerPlan worker;
  worker.program = plan.worker;
  worker.library = plan.image.memory.get();
  worker.environment = reduced_environment(manifest);
  worker.hello.extensions = manifest.extensions;
  worker.hello.variables = manifest.declared_variables();
  worker.hello.fences = manifest.recovery == Recovery::kFence;
  worker.hello.concurrency = manifest.concurrency_per_provider;
  worker.hello.config_json = plan.config_json;
  return worker;
}

std::unique_ptr<ChannelSource> worker_source(boost::asio::any_io_executor executor,
                                             SourcePlan plan) {
  return std::make_unique<WorkerSource>(std::move(executor), std::move(plan));
}

std::unique_ptr<ChannelSource> direct_source(boost::asio::any_io_executor executor,
                                             SourcePlan plan) {
  return std::make_unique<DirectSource>(std::move(executor), std::move(plan));
}

Result<std::filesystem::path> find_worker() {
  const std::filesystem::path folder = os::executable_folder();
  std::string sought;
  for (const char* place : {"berth-worker", "../libexec/berth/berth-worker", "../bin/berth-worker"}) {
    const auto candidate = (folder / place).lexically_normal();
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    sought += "\n  " + candidate.string();
  }
  return fail(ErrorKind::kNotFound,
              "the program berth-worker, which hosts providers, is not installed; it was sought at" +
                  sought);
}

}  // namespace berth::plugin
