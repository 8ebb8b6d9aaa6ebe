// Host: what a program needs to run code in sandboxes, wired together: the state folder, this
// process's lock on it, the store, and the providers that are loaded.
//
//   HostOptions options;
//   options.state_dir = "/var/lib/my-agent";
//   auto host = Host::open(executor, options);
//   auto provider = co_await (*host)->load("local");
//   ExecutionResult result =
//       co_await (*host)->execute(**provider, std::move(request), &observer, cancellation);
//   co_await (*host)->close();
//
// Ownership: a Host owns all of it. Providers are valid until close(); whatever was started must have
// ended before that, and close() must have ended before the Host is destroyed.
// Threading: everything happens on the one thread that runs the executor's loop. Any number of
// executions may be in progress at once, and any number of processes may share a state folder.
#ifndef BERTH_CORE_HOST_HOST_H_
#define BERTH_CORE_HOST_HOST_H_

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/accounting/credits.h"
#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/base/time.h"
#include "core/execution/execution.h"
#include "core/execution/install/package_index.h"
#include "core/lifecycle/store.h"
#include "core/lifecycle/with_sandbox.h"
#include "core/plugin/load.h"

namespace berth {

struct HostOptions {
  // The record of every sandbox, receipt and balance. Made, private to this user, where it is
  // missing; one that others can write is refused. Required.
  std::filesystem::path state_dir;
  // Where Berth is installed, when that is not where this program is: providers are then also sought
  // in lib/berth/providers below it, and the worker in libexec/berth.
  std::filesystem::path installation = {};
  registry::SearchPath search = {};  // no folders: the default ones
  registry::HostConfiguration configuration = {};
  registry::LockFile lock = {};
  LifecycleLimits limits = {};
  Money price = Money::micros(50'000);         // of a completed execution
  std::optional<CreditsConfig> credits = {};   // nothing: usage is recorded, nothing is debited
  Duration result_retention = std::chrono::days(30);  // of results, which replays are answered from
  // Where packages come from for requests that name no index themselves. Its files are kept in
  // `packages` of the state folder unless it says where.
  PackageIndex packages = {};
  // Providers that may be are loaded in a keeper, which serves this user's other hosts too. For programs
  // that run something and end; nothing: each in a worker of this host's own.
  std::optional<plugin::Keeping> keeping = {};
  // What users of this program name the state folder with ("--state-dir"), for errors. May be
  // empty.
  std::string state_dir_option = {};
  // What providers log, beside `logs` of the state folder, which keeps it; may be empty.
  std::function<void(plugin::LogLevel, std::string_view line)> on_log = {};
};

// A provider that is loaded, with what the lifecycle needs to work with it.
struct HostedProvider {
  std::unique_ptr<plugin::LoadedProvider> loaded;
  LifecycleServices services;
  bool cleaned_up = false;  // what dead hosts had left behind was looked after
};

// Nothing when the provider says that it works on this machine, else its own reasons.
Status check_usable(const plugin::LoadedProvider& provider);

// False: it runs nothing and only simulates, as its own probe says. Its executions are marked so, and
// are free.
bool runs_programs(const plugin::LoadedProvider& provider);

class Host {
 public:
  // Makes the state folder and the store where they are missing.
  static Result<std::unique_ptr<Host>> open(boost::asio::any_io_executor executor,
                                            HostOptions options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Store& store();

  // The provider with this id, loaded once. `on_progress` hears what is being done; may be empty.
  Task<Result<HostedProvider*>> load(std::string id,
                                     std::function<void(std::string_view step)> on_progress = {});

  // What settles something of a provider that cannot be loaded, by an operator's word alone:
  // `absent` stands for it, must outlive what is returned, and refuses whatever it is asked.
  LifecycleServices services_without(Provider& absent);

  // Runs one request, whole, as execute() does. Beside the first one with a provider, what dead
  // hosts left behind is looked after: sandboxes that are confirmed and due are deleted, and results
  // that are too old are dropped. What that cannot settle waits for reconcile().
  Task<ExecutionResult> execute(HostedProvider& provider, ExecutionRequest request,
                                ExecutionObserver* observer, Cancellation& cancellation);

  // At most filter.count_max receipts, oldest first.
  Task<Result<std::vector<Receipt>>> receipts(ReceiptFilter filter);

  // Ends the workers. Sandboxes are not touched: every execution has cleaned up after itself.
  Task<void> close();

 private:
  struct Parts;
  explicit Host(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth

#endif  // BERTH_CORE_HOST_HOST_H_
