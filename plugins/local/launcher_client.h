// The provider's side of the launcher: starts it, asks it, and starts it again when it is gone.
#ifndef BERTH_PLUGINS_LOCAL_LAUNCHER_CLIENT_H_
#define BERTH_PLUGINS_LOCAL_LAUNCHER_CLIENT_H_

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "fd.h"
#include "wire.h"

namespace berth::local {

struct LaunchParts {
  int init_socket = -1;
  int liveness = -1;
  int pid_file = -1;
  int identity = -1;  // -1: none
  int unified = -1;   // -1: none
  int control = -1;   // of a template to fork from; -1: none
  int ancestor = -1;  // that template's user namespace
  std::vector<int> tasks;
};

struct Launched {
  Fd pidfd;
  Fd user_namespace;  // of a template
  pid_t pid = -1;
  std::uint64_t start_time = 0;
  LayerFailure failure{};  // error 0: the init runs
};

// Thread safety: every member may be called from any thread; requests take their turn, which is a
// millisecond each.
class LauncherClient {
 public:
  LauncherClient() = default;
  ~LauncherClient() { stop(); }

  // Starts the launcher. Empty, or what went wrong.
  std::string start();

  // The layers as the kernel offers them here. Throws Failure (rejected) when there is no launcher.
  Probed probe();

  // Starts one sandbox. Throws Failure (uncertain) when the launcher did not answer: the caller closes
  // its end of the init's socket, which ends whatever was started.
  Launched create(Create request, const LaunchParts& parts);

  // Ends the launcher and waits for it. Sandboxes stay.
  void stop();

 private:
  std::string start_locked();
  void stop_locked();
  void ask(const void* request, std::size_t size, const std::vector<int>& fds, Kind answer_kind,
           void* answer, std::size_t answer_size, std::vector<Fd>* attached);

  std::mutex mutex_;
  Fd socket_;
  pid_t pid_ = -1;
  std::uint64_t next_id_ = 1;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_LAUNCHER_CLIENT_H_
