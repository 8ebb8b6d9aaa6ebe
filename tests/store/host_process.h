// HostProcess: a host program under a test's eyes.
#ifndef BERTH_TESTS_STORE_HOST_PROCESS_H_
#define BERTH_TESTS_STORE_HOST_PROCESS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/os/process.h"

namespace berth::test {

// Killed at the latest when destroyed. Its lines can be read while it runs.
class HostProcess {
 public:
  // `arguments` come after the state folder; `kill_at` becomes BERTH_TEST_KILL.
  HostProcess(const std::filesystem::path& program, const std::filesystem::path& state,
              std::vector<std::string> arguments, const std::string& kill_at = {});

  // The next line; nothing at the end of the output.
  std::optional<std::string> line();
  // All that are left.
  std::vector<std::string> lines();
  void kill() { process_->kill(); }
  os::ProcessEnd end() { return process_->reap(); }

 private:
  os::Fd output_;
  std::optional<os::Process> process_;
  std::string buffer_;
};

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_HOST_PROCESS_H_
