// A host as a process of its own, for tests that start several and kill them. Its arguments:
//
//   STATE run CALL...       the calls of one session, all at once; a line for each answer
//   STATE reconcile         one pass over everything; a line for each intent and each stray
//   STATE units OWNER N     N good runs on the store alone, four at a time; a line for each
//
// BERTH_TEST_KILL names the point where it kills itself as `kill -9` would: "before-commit:N",
// "after-commit:N" (the Nth commit of this process), or a step of StepProvider. "worker:STEP" kills
// the provider's worker there instead; "stop:STEP" says so and waits there for ever.
#ifndef BERTH_TESTS_STORE_HOST_PROGRAM_H_
#define BERTH_TESTS_STORE_HOST_PROGRAM_H_

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/lifecycle/provider.h"

namespace berth::test {

// The provider of a host program, opened.
class HostProgramProvider {
 public:
  virtual ~HostProgramProvider() = default;
  virtual Provider& provider() = 0;
  virtual std::vector<int> worker_pids() const { return {}; }
  virtual Task<void> close() { co_return; }
};

struct HostProgram {
  // On the loop, once. Ends the process with a message when it cannot.
  std::function<Task<std::unique_ptr<HostProgramProvider>>(
      boost::asio::any_io_executor executor, std::filesystem::path state, std::string host_tag)>
      open_provider;
  std::vector<std::string> command;  // what a call runs
};

int run_host_program(const HostProgram& program, int argc, char** argv);

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_HOST_PROGRAM_H_
