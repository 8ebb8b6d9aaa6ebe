// Makes sandboxes and takes them apart: the effects, without the names' history, which is the
// allocations'.
//
// Thread safety: every member may be called from any thread.
#ifndef BERTH_PLUGINS_LOCAL_MAKER_H_
#define BERTH_PLUGINS_LOCAL_MAKER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup.h"
#include "config.h"
#include "launcher_client.h"
#include "sandbox.h"
#include "state.h"
#include "template.h"

namespace berth::local {

// The layers of this machine: which work, and a sentence for each that does not.
struct LayerReport {
  std::uint32_t missing = 0;
  std::uint32_t landlock_level = 0;
  std::string sentences[kLayerCount];
};

struct Wish {
  std::string name;
  std::string owner_tag;
  EffectiveLimits limits;
  std::chrono::nanoseconds lifetime{0};
  std::vector<std::pair<std::string, std::string>> environment;
  bool is_template = false;
  bool made_ahead = false;  // nobody waits for it
  std::optional<Interpreter> interpreter;  // that is to run in it, as far as is known
};

class Maker {
 public:
  // Throws Failure when nothing can be made here at all.
  Maker(const Config& config, StateStore& store);
  ~Maker();

  LayerReport layers() const;
  // Tries every layer again: what stopped working is missing from now on.
  void examine_layers();
  const CgroupTree& cgroups() const { return cgroups_; }
  bool privileged() const { return privileged_; }

  // Throws Failure (rejected) naming a layer that is neither here nor accepted as missing, or a limit
  // that nothing here keeps.
  void refuse_missing_layers(const Limits& wanted) const;

  // Makes it, by a fork of `from` where there is one and that works. nullptr when the name is taken.
  // Throws Failure.
  std::shared_ptr<Sandbox> make(const Wish& wish, Template* from);

  // Ends what runs, by the kernel's own handle of it, and waits until nothing of it is left. False when
  // something still is.
  bool end(std::string_view name, const Record& record, std::chrono::steady_clock::time_point until);

  const std::string& boot_id() const { return boot_id_; }
  static CgroupLimits group_limits(const EffectiveLimits& limits);

 private:
  struct Making;

  std::shared_ptr<Sandbox> launch(const Wish& wish, Template* from, Making* making);
  std::shared_ptr<Sandbox> attempt(const Wish& wish, Template* from, Making* making);
  void await_ready(int socket, std::string_view name) const;
  void remove_foreign_bases(const std::vector<std::string>& folders) const;

  const Config& config_;
  StateStore& store_;
  const bool privileged_;
  const std::string identity_folder_;
  const std::string boot_id_;
  LauncherClient launcher_;
  CgroupTree cgroups_;
  mutable std::mutex layers_mutex_;
  LayerReport layers_;
};

std::uint64_t unix_milliseconds();
std::string one_line(const std::string& path);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_MAKER_H_
