// A host with the real store and a real provider, for the cases.
#ifndef BERTH_TESTS_EXECUTION_PROVIDER_HOST_H_
#define BERTH_TESTS_EXECUTION_PROVIDER_HOST_H_

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "core/execution/execution.h"
#include "core/lifecycle/system_clock.h"
#include "core/plugin/load.h"
#include "core/store/host_lock.h"
#include "core/store/sqlite/sqlite_store.h"

namespace berth::test {

// Loads one provider into a worker, and closes it with itself. One thread.
class ProviderHost {
 public:
  // `request` names provider, file, worker and configuration; the rest is made in `state`. Throws
  // std::runtime_error when it cannot be loaded.
  ProviderHost(const std::filesystem::path& state, plugin::LoadRequest request);
  ~ProviderHost();
  ProviderHost(const ProviderHost&) = delete;
  ProviderHost& operator=(const ProviderHost&) = delete;

  ExecutionResult run(const ExecutionRequest& request);

 private:
  Task<bool> close();

  boost::asio::io_context loop_{1};
  SystemClock clock_;
  std::unique_ptr<HostLock> lock_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<plugin::LoadedProvider> loaded_;
};

}  // namespace berth::test

#endif  // BERTH_TESTS_EXECUTION_PROVIDER_HOST_H_
