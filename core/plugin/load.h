// load_provider: from a file to a provider that can be used, step by step, with every refusal in
// words. This is what tools call; nothing else in this folder need be known.
//
//   LoadRequest request;
//   request.id = "local";
//   auto loaded = co_await load_provider(executor, request);
//   if (!loaded) ... loaded.error().message() names every finding with its clause
//   Provider& provider = (*loaded)->provider();
//   ... co_await (*loaded)->close(deadline);
#ifndef BERTH_CORE_PLUGIN_LOAD_H_
#define BERTH_CORE_PLUGIN_LOAD_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/provider.h"
#include "core/registry/configuration.h"
#include "core/registry/finding.h"
#include "core/registry/lock_file.h"
#include "core/registry/quarantine.h"
#include "core/registry/search.h"

namespace berth::plugin {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
std::string_view to_string(LogLevel level);

inline constexpr std::uint64_t kProviderLogBytesMax = std::uint64_t{1} << 20;

// What the hosting of a provider is bounded by.
struct HostingLimits {
  Duration load_deadline = std::chrono::seconds(10);    // library, entry and negotiation together
  Duration open_deadline = std::chrono::seconds(30);    // `open`, `probe` and `scope`, each
  Duration cancel_grace = std::chrono::seconds(5);      // from a cancel to the detaching
  Duration drain_bound = std::chrono::seconds(60);      // a worker with a detached operation
  Duration restart_backoff = std::chrono::milliseconds(100);  // doubles with each crash
  Duration restart_backoff_max = std::chrono::seconds(30);
};

// Sharing a loaded provider with this user's other hosts, at once and later, through a process that
// outlives this one: the keeper. See keeper_main.h.
struct Keeping {
  std::filesystem::path folder;  // where keepers are found; made private where it is missing
  Duration idle = std::chrono::minutes(5);  // a keeper that nobody uses for this long goes
};

struct LoadRequest {
  std::string id;                   // searched for when `file` is empty
  std::filesystem::path file;       // exactly this file
  registry::SearchPath search;      // empty: default_search_path()
  registry::HostConfiguration configuration;
  registry::LockFile lock;
  // Outlives the loaded provider; null: crashes at load are not counted.
  registry::Quarantine* quarantine = nullptr;
  std::filesystem::path state_dir;  // a private folder of this provider; made with mode 0700
  std::string owner_tag;            // put on every resource
  std::filesystem::path worker;     // empty: berth-worker beside this executable
  HostingLimits limits;
  std::optional<registry::Hosting> hosting;  // over the configuration's
  // Nothing: a worker of this host's own. Ignored for a provider that declares variables, which may
  // be secrets, and for one that is hosted in process. Where the keeper cannot be used, a worker is.
  std::optional<Keeping> keeping = {};
  std::function<void(std::string_view step)> on_progress = {};  // "reading the file", ...
  // The provider's own lines and what the host has to say of it: bounded in length and rate, on the
  // loop. `log_file` keeps the same, in at most two files of kProviderLogBytesMax; empty: nowhere.
  std::function<void(LogLevel, std::string_view line)> on_log = {};
  std::filesystem::path log_file;
};

// A capability and the chain that makes it usable.
struct CapabilityRow {
  std::string id;
  bool claimed = false;
  bool granted = false;
  bool probed = false;  // works on this machine, says the provider
  bool backed = false;  // its table is there, or it needs none
  std::string missing;  // the first missing link in words; empty when effective

  bool effective() const { return claimed && granted && probed && backed; }
};

class LoadedProvider {
 public:
  virtual ~LoadedProvider() = default;  // kills a worker that was not closed

  virtual Provider& provider() = 0;
  virtual const registry::Manifest& manifest() const = 0;
  virtual const std::filesystem::path& file() const = 0;
  virtual registry::Hosting hosting() const = 0;
  virtual const ProbeReport& probe_report() const = 0;  // as of loading
  virtual const Scope& scope() const = 0;               // as of loading
  virtual const std::vector<CapabilityRow>& capabilities() const = 0;
  virtual const registry::Findings& warnings() const = 0;

  // Nothing when the capability is effective, else the refusal that names the missing link.
  virtual Status require(std::string_view capability) const = 0;

  // Broken clauses so far, newest last, at most 256: "[OP-002] ...".
  virtual std::vector<std::string> violations() const = 0;
  // Whether operations go to a keeper now.
  virtual bool kept() const = 0;
  // Process ids of this host's own workers now running; empty in process and with a keeper.
  virtual std::vector<int> worker_pids() const = 0;

  // Refuses new operations, asks the provider to shut down and ends the worker; at the deadline it
  // is killed. Idempotent.
  virtual Task<void> close(Instant deadline) = 0;
};

// All on the loop of `executor`, which must be single-threaded.
Task<Result<std::unique_ptr<LoadedProvider>>> load_provider(boost::asio::any_io_executor executor,
                                                            LoadRequest request);

boost::json::value to_json(const LoadedProvider& loaded);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_LOAD_H_
