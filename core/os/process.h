// Process: the one owner of a child process, by pidfd, so that no other process is ever signalled.
#ifndef BERTH_CORE_OS_PROCESS_H_
#define BERTH_CORE_OS_PROCESS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/os/fd.h"

namespace berth::os {

struct SpawnRequest {
  std::filesystem::path program;
  std::vector<std::string> arguments;    // without argv[0]
  std::vector<std::string> environment;  // "NAME=value", all of it
  // (descriptor here, number there). Everything not listed is closed in the child.
  std::vector<std::pair<int, int>> descriptors;
};

struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
};
// "exited with code 3", "was ended by signal 11 (Segmentation fault)".
std::string to_string(const ProcessEnd& end);

// A child in a session and process group of its own. The destructor kills what still runs of the
// group and reaps the child. Not shared between threads.
class Process {
 public:
  static Result<Process> spawn(const SpawnRequest& request);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  int pid() const { return pid_; }
  // Polls readable once the child has ended.
  int pidfd() const { return pidfd_.get(); }

  // SIGKILL to the child and its process group. Nothing happens once it is reaped.
  void kill();
  // How it ended, when it has; never waits.
  std::optional<ProcessEnd> try_reap();
  // Waits for the end.
  ProcessEnd reap();

 private:
  Process(int pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  std::optional<ProcessEnd> wait(int options);

  int pid_ = -1;
  Fd pidfd_;
  std::optional<ProcessEnd> end_;
};

// A connected pair of stream sockets, close-on-exec.
Result<std::pair<Fd, Fd>> socket_pair();

struct Pipe {
  Fd read_end;
  Fd write_end;
};
Result<Pipe> make_pipe();

Status set_non_blocking(int fd);

// The folder of the running executable.
std::filesystem::path executable_folder();

}  // namespace berth::os

#endif  // BERTH_CORE_OS_PROCESS_H_
