// What is written down about allocations, so that a process that knows only a name can find, end and
// list them.
//
//   <state_dir>/allocations/<name>/record   what the allocation is; written before anything is made
//   <state_dir>/allocations/<name>/process  process 1: its pid and start time, by the launcher
//   <state_dir>/allocations/<name>/alive    locked by whoever makes or is the sandbox
//   <state_dir>/allocations/<name>          a plain file: a tombstone, no create of it can succeed
//
// A folder and a tombstone contend for one name through one exclusive call (rename that replaces
// nothing, or creating a file that must not exist), so a create and a fence can never both win.
// Whether a sandbox lives is asked of the kernel: its init holds the lock on `alive` until it ends.
//
// Tombstones are kept for a day, which is far longer than any create can be under way, and at most
// kTombstonesMax of them, the oldest going first but none younger than an hour.
//
// Thread safety: every member may be called from any thread and any process at once.
#ifndef BERTH_PLUGINS_LOCAL_STATE_H_
#define BERTH_PLUGINS_LOCAL_STATE_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fd.h"

namespace berth::local {

inline constexpr std::size_t kTombstonesMax = 100'000;

struct Record {
  std::string name;
  std::string owner_tag;
  std::string holder;       // who made it: host name and pid, for people
  std::string boot_id;      // processes and control groups do not outlive a boot
  std::string layers;       // names of the layers asked for, comma-separated
  std::string startup;      // how it came to be: cold, warm or template
  std::uint64_t created_unix_ms = 0;
  std::uint32_t outer_id = 0;
  std::vector<std::string> cgroup_folders;  // absolute paths
};

struct ProcessName {
  pid_t pid = -1;
  std::uint64_t start_time = 0;
};

enum class Slot { kFree, kAllocation, kTombstone };

// A name taken for a new allocation, with the lock on `alive` held by `alive` and every copy of it.
struct Claim {
  Fd alive;
  Fd process;
};

enum class Liveness { kAlive, kDead, kUnknown };

class StateStore {
 public:
  // Makes the folders. Throws Failure when the state cannot be kept there.
  explicit StateStore(std::string folder);
  ~StateStore();

  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  // Nothing when the name is taken; slot() says by what. Throws Failure (rejected) when the record
  // cannot be written.
  std::optional<Claim> claim(const Record& record);

  // Writes another record in place of the one of this folder.
  bool rewrite(std::string_view name, const Record& record);

  // Gives the allocation `from` the name `to`, unless that is taken, be it by a tombstone.
  bool rename(std::string_view from, std::string_view to);

  Slot slot(std::string_view name) const;
  std::optional<Record> read(std::string_view name) const;
  std::optional<ProcessName> process(std::string_view name) const;
  Liveness liveness(std::string_view name) const;

  // True when a tombstone stands there now; false when an allocation does.
  bool fence(std::string_view name);

  // The allocation is gone: a tombstone takes its place. Also when it already had. Throws Failure
  // (failed_dirty) when that cannot be written. Its folder has no name any more then, and its files are
  // removed a moment later, or by the next provider of this state.
  void retire(std::string_view name);

  // The record goes and the name is free again: nobody was ever told of it.
  void remove(std::string_view name);

  // Every name with an allocation, sorted.
  std::vector<std::string> names() const;

  // Removes half-made folders of dead processes and tombstones past their time.
  void tidy();

  // Random, made with the folder, the same for its life: where allocations live.
  const std::string& installation_id() const { return installation_id_; }

  const std::string& folder() const { return folder_; }

 private:
  std::string path_of(std::string_view name) const;
  void remove_folder(const std::string& path) const;
  void bury(std::string grave);
  void serve_graves();

  std::string folder_;
  std::string allocations_;
  std::string installation_id_;

  // Folders without a name, to be removed by a thread of their own: a busy disk makes each file of one take
  // milliseconds, which nobody has to wait for.
  std::mutex graves_mutex_;
  std::condition_variable grave_dug_;
  std::vector<std::string> graves_;
  bool closing_ = false;
  std::thread digger_;
};

// Names are made by the host: letters, digits and dashes, at most BERTH_NAME_MAX_BYTES.
bool valid_name(std::string_view name);

std::string random_hex(std::size_t bytes);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_STATE_H_
