// Host: the object graph of one command: configuration, state folder, store, clock, providers.
#ifndef BERTH_TOOLS_BERTH_HOST_H_
#define BERTH_TOOLS_BERTH_HOST_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/task.h"
#include "core/lifecycle/with_sandbox.h"
#include "core/plugin/load.h"
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

// A provider that is loaded, with what the lifecycle needs to work with it.
struct HostedProvider {
  std::unique_ptr<plugin::LoadedProvider> loaded;
  LifecycleServices services;
};

// Everything of it lives on the loop and must be closed before it is destroyed.
class Host {
 public:
  // Makes the state folder and the store where they are missing.
  static Tried<std::unique_ptr<Host>> open(const Context& context);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const Settings& settings() const;
  const std::filesystem::path& state_dir() const;
  Store& store();

  // The provider with this id, loaded once; valid until close. `on_progress` may be empty.
  Task<Tried<HostedProvider*>> load(std::string id,
                                    std::function<void(std::string_view)> on_progress);

  // What is needed to settle something of a provider that cannot be loaded, by an operator's word
  // alone: everything that is asked of `absent` is refused.
  LifecycleServices services_without(Provider& absent);

  // Goes on with what dead hosts left behind, for a provider that load gave: deletes what is
  // confirmed and due, and drops results that are too old. Quiet; ends early once `stop` is true.
  Task<void> recover(HostedProvider& provider, std::shared_ptr<const bool> stop);

  // Ends the workers. Sandboxes are not touched.
  Task<void> close();

 private:
  struct Parts;
  explicit Host(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_HOST_H_
