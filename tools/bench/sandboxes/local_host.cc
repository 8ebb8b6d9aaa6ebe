#include "tools/bench/sandboxes/local_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <fstream>
#include <utility>

namespace berth::bench {
namespace {

constexpr std::chrono::seconds kReadyPatience{120};
constexpr std::chrono::milliseconds kLookEvery{5};
// How the provider names what it has made ahead.
constexpr std::string_view kReadyPrefix = "local-ready-";

std::filesystem::path state_of(const Setting& setting) { return setting.folder / "state"; }

// Sees which sandbox an execution got.
class StartupObserver final : public ExecutionObserver {
 public:
  explicit StartupObserver(const LocalHost& host) : host_(host) {}

  void on_started() override {
    for (const SandboxRecord& record : host_.records()) {
      if (!record.ahead()) startup_ = record.startup;
    }
  }
  const std::string& startup() const { return startup_; }

 private:
  const LocalHost& host_;
  std::string startup_;
};

SandboxRecord read_record(const std::filesystem::path& folder) {
  SandboxRecord record;
  record.name = folder.filename().string();
  std::ifstream file(folder / "record");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("startup ")) record.startup = line.substr(8);
    if (line.starts_with("cgroup ") && record.cgroup.empty()) record.cgroup = line.substr(7);
  }
  return record;
}

}  // namespace

void ProviderOptions::add_to(CLI::App& command) {
  command.add_option("--config", config, "the provider's configuration, JSON");
  command.add_option("--startup", startup, "how sandboxes have to come to be: cold, warm, template");
  command.add_option("--ready", ready, "how many have to wait ready before anything is measured");
}

LocalHost::LocalHost(Setting& setting, ProviderOptions options, std::unique_ptr<Host> host)
    : setting_(setting), options_(std::move(options)), host_(std::move(host)) {}

Task<Result<std::unique_ptr<LocalHost>>> LocalHost::open(Setting& setting,
                                                         ProviderOptions options) {
  boost::system::error_code error;
  const boost::json::value config = boost::json::parse(options.config, error);
  if (error || !config.is_object()) {
    co_return fail(ErrorKind::kInvalidArgument, "--config is not a JSON object: " + options.config);
  }
  HostOptions wanted;
  wanted.state_dir = state_of(setting);
  wanted.installation = setting.installation;
  wanted.configuration.providers["local"].config = config.get_object();
  BERTH_CO_TRY(auto host, Host::open(setting.executor, std::move(wanted)));
  std::unique_ptr<LocalHost> made(
      new LocalHost(setting, std::move(options), std::move(host)));
  BERTH_CO_TRY(made->provider_, co_await made->host_->load("local"));
  BERTH_CO_CHECK_OK(check_usable(*made->provider_->loaded));
  co_return made;
}

CallKey LocalHost::next_key() { return {"bench", "bench", fmt::format("{}", calls_++)}; }

Task<Result<ExecutionResult>> LocalHost::execute(ExecutionRequest request,
                                                 ExecutionObserver* observer) {
  request.key = next_key();
  ExecutionResult result =
      co_await host_->execute(*provider_, std::move(request), observer, setting_.stop);
  if (result.status != ExecutionStatus::kCompleted || !result.receipt) {
    co_return fail(ErrorKind::kInternal,
                   fmt::format("a program ended as {}: {}", to_string(result.status),
                               result.message));
  }
  co_return result;
}

std::vector<SandboxRecord> LocalHost::records() const {
  std::vector<SandboxRecord> found;
  const auto folder = state_of(setting_) / "providers/local/allocations";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && entry.is_directory(error)) {
      found.push_back(read_record(entry.path()));
    }
  }
  return found;
}

std::size_t LocalHost::ready() const {
  const std::vector<SandboxRecord> all = records();
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const auto& one) { return one.name.starts_with(kReadyPrefix); }));
}

Task<void> LocalHost::pause(Duration time) {
  boost::asio::steady_timer timer(setting_.executor, time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

Task<Result<std::string>> LocalHost::startup_of(ExecutionRequest sample) {
  StartupObserver observer(*this);
  const Result<ExecutionResult> result = co_await execute(std::move(sample), &observer);
  if (!result) co_return fail(result.error());
  co_return observer.startup();
}

Task<Status> LocalHost::settle(const ExecutionRequest& sample) {
  const Instant until = now() + kReadyPatience;
  std::string seen;
  std::size_t waiting = 0;
  while (now() < until) {
    BERTH_CO_CHECK_OK(unless_stopped(setting_));
    // The last one written down may still be in the making; one more costs nothing.
    waiting = ready();
    const bool full = options_.ready == 0 || waiting > options_.ready;
    if (full) {
      BERTH_CO_TRY(seen, co_await startup_of(sample));
      if (options_.startup.empty() || seen == options_.startup) co_return Status();
    }
    co_await pause(full ? Duration(std::chrono::milliseconds(200)) : Duration(kLookEvery));
  }
  co_return fail(ErrorKind::kTimeout,
                 fmt::format("no sandbox comes to be as '{}': the last one was '{}', and {} of {} "
                             "wait ready",
                             options_.startup, seen, waiting, options_.ready));
}

Task<Status> LocalHost::close() {
  std::size_t left = 0;
  for (const SandboxRecord& record : records()) left += record.ahead() ? 0 : 1;
  co_await host_->close();
  for (const SandboxRecord& record : records()) left += record.ahead() ? 1 : 0;
  if (left == 0) co_return Status();
  co_return fail(ErrorKind::kInternal, fmt::format("{} sandboxes are left behind", left));
}

}  // namespace berth::bench
