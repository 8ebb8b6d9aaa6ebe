// Making, finding and ending sandboxes by name. Everything a fresh process needs is in the state
// store; this class adds the sandboxes that live because this process holds them.
//
// Thread safety: every member may be called from any thread.
#ifndef BERTH_PLUGINS_LOCAL_ALLOCATIONS_H_
#define BERTH_PLUGINS_LOCAL_ALLOCATIONS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "berth/values.hpp"
#include "cgroup.h"
#include "config.h"
#include "launcher_client.h"
#include "sandbox.h"
#include "state.h"

namespace berth::local {

// The layers of this machine: which work, and a sentence for each that does not.
struct LayerReport {
  std::uint32_t missing = 0;
  std::uint32_t landlock_level = 0;
  std::string sentences[kLayerCount];
};

class Allocations {
 public:
  // Throws Failure when the provider cannot work here at all.
  Allocations(Config config, std::string state_dir, std::string owner_tag);
  ~Allocations();

  Scope scope() const;
  const LayerReport& layers() const { return layers_; }
  const CgroupTree& cgroups() const { return cgroups_; }
  const Config& config() const { return config_; }
  const std::string& state_folder() const { return store_.folder(); }

  // Makes a sandbox, or answers with the living one of this name and owner; that is nullptr when
  // another process holds it.
  std::shared_ptr<Sandbox> create(std::string_view name, const CreateSpec& spec);

  // The name as it was recorded.
  std::string recorded_name(std::string_view name) const;

  // A sandbox this process holds, by its reference. Throws Failure (rejected) when there is none.
  std::shared_ptr<Sandbox> held(std::string_view ref) const;

  Found lookup(std::string_view name) const;
  Found fence(std::string_view name);

  // Returns when it is established that nothing of it is left. Throws Failure (failed_dirty) when
  // something still was at the end of `patience`.
  Destroyed destroy(std::string_view name, std::chrono::milliseconds patience);

  ListPage list_owned(std::string_view owner_tag, std::string_view cursor) const;

 private:
  struct Making;

  void examine_layers();
  void remove_dead_trials();
  void refuse_missing_layers() const;
  std::shared_ptr<Sandbox> launch(std::string_view name, const CreateSpec& spec, Making* making);
  void await_ready(int socket, std::string_view name) const;
  bool end_and_clean(std::string_view name, const Record& record,
                     std::chrono::steady_clock::time_point until);
  void remove_foreign_bases(const std::vector<std::string>& folders) const;
  std::shared_ptr<Sandbox> existing(std::string_view name, std::string_view owner_tag) const;
  Found describe(std::string_view name) const;
  std::vector<Listed> orphans() const;

  const Config config_;
  const std::string owner_tag_;
  const bool privileged_;
  const std::string identity_folder_;
  const std::string boot_id_;
  StateStore store_;
  LauncherClient launcher_;
  CgroupTree cgroups_;
  LayerReport layers_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Sandbox>, std::less<>> held_;
};

std::string reference_of(std::string_view name);

// Trial sandboxes of the provider's own, which no host knows. Dead ones go when a provider opens.
inline constexpr std::string_view kTrialPrefix = "local-trial-";

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_ALLOCATIONS_H_
