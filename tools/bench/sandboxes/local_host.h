// A host of its own, with the local provider in its worker, for one measurement.
#ifndef BERTH_TOOLS_BENCH_SANDBOXES_LOCAL_HOST_H_
#define BERTH_TOOLS_BENCH_SANDBOXES_LOCAL_HOST_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/host/host.h"
#include "tools/bench/sandboxes/family.h"

namespace berth::bench {

// What a measurement asks of the provider.
struct ProviderOptions {
  std::string config = "{}";  // the provider's configuration, JSON
  std::string startup;        // how its sandboxes have to come to be ("template"); empty: as they like
  std::size_t ready = 0;      // how many have to wait ready before a measurement begins

  void add_to(CLI::App& command);
};

// What the provider has written down about one of its sandboxes.
struct SandboxRecord {
  std::string name;
  std::string startup = "cold";   // where nothing is said there is no other way
  std::filesystem::path cgroup;  // one of its control groups; empty: it has none

  // Made ahead, and nobody's yet.
  bool ahead() const { return name.starts_with("local-"); }
};

class LocalHost {
 public:
  static Task<Result<std::unique_ptr<LocalHost>>> open(Setting& setting, ProviderOptions options);

  LifecycleServices& services() { return provider_->services; }
  CallKey next_key();
  // Through the whole library, receipt included. Anything but a program that ended with 0 is an error.
  Task<Result<ExecutionResult>> execute(ExecutionRequest request,
                                        ExecutionObserver* observer = nullptr);

  std::vector<SandboxRecord> records() const;
  std::size_t ready() const;  // how many wait

  // Waits until what is made ahead is there, and shows by one execution like those to be measured
  // that sandboxes come to be as they have to.
  Task<Status> settle(const ExecutionRequest& sample);

  // An error when something of a sandbox is left behind.
  Task<Status> close();

 private:
  LocalHost(Setting& setting, ProviderOptions options, std::unique_ptr<Host> host);
  Task<void> pause(Duration time);
  Task<Result<std::string>> startup_of(ExecutionRequest sample);

  Setting& setting_;
  const ProviderOptions options_;
  std::unique_ptr<Host> host_;
  HostedProvider* provider_ = nullptr;
  std::uint64_t calls_ = 0;
};

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_SANDBOXES_LOCAL_HOST_H_
