// Host: what one command works with: its configuration, and the library's host made from it.
#ifndef BERTH_TOOLS_BERTH_HOST_H_
#define BERTH_TOOLS_BERTH_HOST_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/task.h"
#include "core/host/host.h"
#include "tools/berth/context.h"
#include "tools/berth/failure.h"
#include "tools/berth/settings.h"

namespace berth::cli {

// What a command needs to know of providers without running any: nothing is opened but files.
struct ProviderFiles {
  registry::SearchPath search;
  registry::LockFile lock;
  std::unique_ptr<registry::Quarantine> quarantine;
};

Tried<Settings> read_settings(const Context& context);
Tried<ProviderFiles> read_provider_files(const Context& context, const Settings& settings);

// The library's host with the exit codes of this program. Everything of it lives on the loop and
// must be closed before it is destroyed.
class Host {
 public:
  // Makes the state folder and the store where they are missing. With `keeping`, providers are loaded
  // in a keeper where that works.
  static Tried<std::unique_ptr<Host>> open(const Context& context,
                                           std::optional<plugin::Keeping> keeping = {});
  // For what only looks, cleans up or settles: a folder that --state-dir names has to be there.
  static Tried<std::unique_ptr<Host>> open_existing(const Context& context);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const Settings& settings() const;
  const std::filesystem::path& state_dir() const;
  Store& store();

  // The provider with this id, loaded once; valid until close. `on_progress` may be empty.
  Task<Tried<HostedProvider*>> load(std::string id,
                                    std::function<void(std::string_view)> on_progress);

  // What settles something of a provider that cannot be loaded, as the library's host says.
  LifecycleServices services_without(Provider& absent);

  // Refuses a provider that says itself that it does not work here, before anything is recorded.
  Task<Tried<ExecutionResult>> execute(HostedProvider& provider, ExecutionRequest request,
                                       ExecutionObserver* observer, Cancellation& cancellation);

  // Ends the workers. Sandboxes are not touched.
  Task<void> close();

 private:
  Host(Settings settings, std::filesystem::path state_dir, std::unique_ptr<berth::Host> host);

  Settings settings_;
  std::filesystem::path state_dir_;
  std::unique_ptr<berth::Host> host_;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_HOST_H_
