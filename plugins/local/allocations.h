// Making, finding and ending sandboxes by name. Everything a fresh process needs is in the state
// store; this class adds the sandboxes that live because this process holds them.
//
// Thread safety: every member may be called from any thread.
#ifndef BERTH_PLUGINS_LOCAL_ALLOCATIONS_H_
#define BERTH_PLUGINS_LOCAL_ALLOCATIONS_H_

#include <atomic>
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
#include "maker.h"
#include "pool.h"
#include "sandbox.h"
#include "state.h"

namespace berth::local {

class Allocations {
 public:
  // Throws Failure when the provider cannot work here at all.
  Allocations(Config config, std::string state_dir, std::string owner_tag);
  ~Allocations();

  Scope scope() const;
  LayerReport layers() const { return maker_.layers(); }
  void examine_layers_again() { maker_.examine_layers(); }
  // How many creates did not end with a sandbox so far.
  std::uint64_t failed_creates() const { return failed_creates_; }
  const CgroupTree& cgroups() const { return maker_.cgroups(); }
  Pool& pool() { return pool_; }
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
  std::shared_ptr<Sandbox> make(std::string_view name, const CreateSpec& spec);
  void remove_dead_own();
  std::shared_ptr<Sandbox> existing(std::string_view name, std::string_view owner_tag) const;
  Found describe(std::string_view name) const;
  std::vector<Listed> orphans() const;

  const Config config_;
  const std::string owner_tag_;
  StateStore store_;
  Maker maker_;
  std::atomic<std::uint64_t> failed_creates_{0};
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Sandbox>, std::less<>> held_;
  Pool pool_;
};

std::string reference_of(std::string_view name);

// Trial sandboxes of the provider's own.
inline constexpr std::string_view kTrialPrefix = "local-trial-";

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_ALLOCATIONS_H_
