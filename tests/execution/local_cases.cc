// The cases in the local sandbox: the whole way of a call, from the request to the receipt.
//
// usage: local_cases CASES PROVIDER WORKER [CASE]
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "core/lifecycle/system_clock.h"
#include "core/plugin/load.h"
#include "core/store/host_lock.h"
#include "core/store/sqlite/sqlite_store.h"
#include "tests/execution/table.h"
#include "tests/unit/execution/process_sandbox.h"

namespace {

using namespace berth;

template <class T>
T run_on(boost::asio::io_context& loop, Task<T> task) {
  std::optional<T> value;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T made) {
    thrown = error;
    value = std::move(made);
    loop.stop();
  });
  loop.restart();
  loop.run();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(value).value();
}

// A host with the real store and the real provider.
class LocalHost {
 public:
  LocalHost(const std::filesystem::path& state, const std::filesystem::path& provider,
            const std::filesystem::path& worker)
      : lock_(HostLock::acquire(state).value()),
        store_(SqliteStore::open({.path = state / "berth.db"}).value()) {
    plugin::LoadRequest request;
    request.id = "local";
    request.file = provider;
    request.worker = worker;
    request.state_dir = state / "local";
    request.owner_tag = lock_->host_tag();
    auto loaded = run_on(loop_, plugin::load_provider(loop_.get_executor(), std::move(request)));
    if (!loaded) throw std::runtime_error(loaded.error().message());
    loaded_ = std::move(*loaded);
  }
  ~LocalHost() {
    run_on(loop_, close());
  }
  LocalHost(const LocalHost&) = delete;
  LocalHost& operator=(const LocalHost&) = delete;

  ExecutionResult run(const ExecutionRequest& request) {
    LifecycleServices services{.store = *store_,
                               .provider = loaded_->provider(),
                               .clock = clock_,
                               .holders = *lock_,
                               .self = lock_->holder(),
                               .host_tag = lock_->host_tag()};
    Cancellation cancellation;
    return run_on(loop_, execute(services, request, nullptr, cancellation));
  }

 private:
  Task<bool> close() {
    co_await loaded_->close(clock_.now() + std::chrono::seconds(10));
    co_return true;
  }

  boost::asio::io_context loop_{1};
  SystemClock clock_;
  std::unique_ptr<HostLock> lock_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<plugin::LoadedProvider> loaded_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: local_cases CASES PROVIDER WORKER [CASE]\n");
    return 2;
  }
  try {
    const berth::test::TemporaryFolder state;
    LocalHost host(state.path(), argv[2], argv[3]);
    const int failed =
        berth::test::run_cases(argv[1], argc > 4 ? argv[4] : "", true,
                               [&host](const berth::test::Case& made) { return host.run(made.request); });
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "local_cases: %s\n", thrown.what());
    return 1;
  }
}
