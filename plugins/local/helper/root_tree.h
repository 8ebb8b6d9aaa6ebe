// The root of a sandbox: the host's system folders read-only, a few files of /etc, a minimal /dev, a
// masked /proc, and one size- and inode-limited file system for everything writable.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_ROOT_TREE_H_
#define BERTH_PLUGINS_LOCAL_HELPER_ROOT_TREE_H_

#include <cstdint>

namespace berth::local {

inline constexpr char kWorkFolder[] = "/workspace";

struct RootTree {
  std::uint64_t disk_bytes;
  std::uint64_t disk_inodes;
  std::uint32_t inner_id;
  const char* host_name;
  // The kernel lets a namespace mount a /proc of its own only where it sees a whole one; a template,
  // in whose namespace those of its sandboxes begin, therefore keeps its own uncovered.
  bool whole_proc = false;
};

struct RootTreeError {
  int error = 0;
  const char* doing = "";
};

// Builds it in the caller's mount namespace and makes it the root. error 0: done.
RootTreeError enter_root_tree(const RootTree& tree);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_ROOT_TREE_H_
