// What a host says to keepers: to the one it wants to use, and to all of its user.
#ifndef BERTH_CORE_PLUGIN_KEEPER_H_
#define BERTH_CORE_PLUGIN_KEEPER_H_

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/os/local_socket.h"

namespace berth::plugin {

// Tells a file from the one that replaces it, without reading it; empty when there is none.
std::string file_mark(const std::filesystem::path& path);

// The name of the keeper that serves this state folder and provider to whoever is in the namespaces of
// this process.
std::string keeper_name(const std::filesystem::path& state_dir, const std::string& provider);

// What a keeper says of itself: {"pid", "provider", "state_dir", "started_at", "hosts", "served",
// "idle_seconds", "unused_seconds", "made_ahead", "going_because"}.
struct KeeperReport {
  int pid = 0;
  std::string provider;
  std::filesystem::path state_dir;  // the provider's own, in that of its hosts
  boost::json::object document;
  bool gone = false;    // asked to stop, and no more there
  std::string problem;  // it does not answer; nothing else of it is known then

  // Whether it serves hosts of this state folder, or the provider whose own it is.
  bool serves(const std::filesystem::path& state) const;
};

// Every keeper that listens in this folder; none when the folder is not there. Waits at most `patience`
// for each.
Result<std::vector<KeeperReport>> ask_keepers(const std::filesystem::path& folder, Duration patience);

// The same, but asks those of `state_dir` (empty: all) to stop, and waits `patience` for each to be gone.
// One that serves a host goes when that host has ended, and is reported as not gone until then.
Result<std::vector<KeeperReport>> stop_keepers(const std::filesystem::path& folder,
                                               const std::filesystem::path& state_dir, Duration patience);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_KEEPER_H_
