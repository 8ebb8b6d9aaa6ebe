// The process between this provider and one program that really runs.
//
// It starts the program, waits, and ends with everything the program started: orphans become its
// children, so nothing gets away by becoming a daemon. It does so too when it is told to, when the
// sandbox is stopped, when its time is over, and when the provider's process dies.
#ifndef BERTH_PLUGINS_REFERENCE_SUPERVISOR_H_
#define BERTH_PLUGINS_REFERENCE_SUPERVISOR_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "berth/values.hpp"

namespace berth::reference {

// All descriptors are borrowed.
struct SupervisorPlan {
  std::vector<std::string> argv;
  std::string file;  // what is executed: argv[0] with a slash, or found in PATH
  std::string cwd;
  std::vector<std::string> environment;
  std::optional<Limits> limits;
  int in = -1;
  int out = -1;
  int err = -1;
  int control = -1;  // readable or at its end: end it all
  int report = -1;   // gets one SupervisorReport
  int alive = -1;    // kept open until nothing runs any more
  int stop = -1;     // readable: the sandbox is being ended
  std::uint64_t expires_unix_ms = 0;  // 0: never
};

struct SupervisorReport {
  std::int32_t exec_errno = 0;  // the program could not be started
  std::int32_t status = -1;     // of waitpid; -1: ended by the supervisor before it ended by itself
  std::uint64_t cpu_ns = 0;
  std::uint64_t memory_peak_bytes = 0;
};

// The process's id, or -1. Called in a process with threads: between its fork and its end the child
// calls nothing that is not safe there.
pid_t start_supervisor(const SupervisorPlan& plan);

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_SUPERVISOR_H_
