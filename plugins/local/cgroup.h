// Control groups: where sandboxes get theirs, the limits on them, and what they count.
//
// A controller is taken where the machine has it: from its own version 1 hierarchy where one is
// mounted, otherwise from the version 2 tree. A hybrid machine therefore gets its limits from version
// 1 and, beside them, a version 2 folder for the one kill that nothing outruns.
#ifndef BERTH_PLUGINS_LOCAL_CGROUP_H_
#define BERTH_PLUGINS_LOCAL_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fd.h"

namespace berth::local {

enum class Controller { kMemory, kPids, kCpu, kCpuAccounting };

struct CgroupLimits {
  std::uint64_t memory_bytes = 0;  // swap included
  std::uint64_t processes = 0;
  std::uint32_t cpu_millis = 0;  // 1000 is one CPU; 0 is no quota
};

// What one sandbox has used so far. A counter that is not there is nothing.
struct CgroupCounters {
  std::optional<std::uint64_t> oom_kills;
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> memory_peak_bytes;
};

// One hierarchy and the folder in it below which sandboxes get theirs.
struct CgroupBase {
  std::string folder;
  bool unified = false;
  std::vector<Controller> controllers;
};

// The groups of one sandbox: a folder in every base.
class SandboxCgroup {
 public:
  SandboxCgroup() = default;
  SandboxCgroup(const std::vector<CgroupBase>& bases, std::string_view name);

  // All but a group of version 2 without a controller. Whoever is not born into such a group joins it in
  // milliseconds only, and it limits nothing and counts nothing.
  SandboxCgroup with_controllers() const;

  // Makes the folders, and the bases where they are the first, and sets the limits. Empty, or what went
  // wrong.
  std::string make(const CgroupLimits& limits) const;

  // Other limits on what is there. Empty, or what went wrong.
  std::string limit(const CgroupLimits& limits) const;

  // The absolute folders.
  std::vector<std::string> folders() const;

  // What the launcher needs to put the first process in: `tasks` of one group per version 1 hierarchy,
  // and the version 2 folder.
  std::vector<Fd> open_tasks() const;
  Fd open_unified() const;

  CgroupCounters counters() const;

 private:
  std::string folder_of(Controller controller, bool* unified) const;

  std::vector<CgroupBase> places_;  // `folder` is the sandbox's own
};

// Where the kernel says what it has, for this process.
struct CgroupView {
  std::string mountinfo = "/proc/self/mountinfo";
  std::string own_groups = "/proc/self/cgroup";
};

class CgroupTree {
 public:
  // Looks at the machine. `parent` is a path inside every hierarchy, or empty for the place of this
  // process; `id` tells installations on one machine apart. Makes nothing.
  static CgroupTree detect(const std::string& parent, std::string_view id,
                           const CgroupView& view = {});

  // Shows that sandboxes could be made here, and leaves nothing. Empty when every controller can be
  // had; else a sentence that says what is missing.
  std::string try_out();

  SandboxCgroup sandbox(std::string_view name) const { return SandboxCgroup(bases_, name); }
  const std::vector<CgroupBase>& bases() const { return bases_; }

  // One line for people: which controller comes from where.
  std::string describe() const;

  // Removes the bases in which no sandbox is.
  void release() const;

 private:
  std::vector<CgroupBase> bases_;
  std::string problem_;
};

// Ends every process in these folders and removes them. True when none of them exists any more.
bool remove_cgroups(const std::vector<std::string>& folders, int timeout_ms);

// True when a process is in any of these folders.
bool cgroups_populated(const std::vector<std::string>& folders);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_CGROUP_H_
