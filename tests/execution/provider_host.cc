#include "tests/execution/provider_host.h"

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace berth::test {
namespace {

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

}  // namespace

ProviderHost::ProviderHost(const std::filesystem::path& state, plugin::LoadRequest request)
    : lock_(HostLock::acquire(state).value()),
      store_(SqliteStore::open({.path = state / "berth.db"}).value()) {
  request.state_dir = state / request.id;
  request.owner_tag = lock_->host_tag();
  auto loaded = run_on(loop_, plugin::load_provider(loop_.get_executor(), std::move(request)));
  if (!loaded) throw std::runtime_error(loaded.error().message());
  loaded_ = std::move(*loaded);
}

ProviderHost::~ProviderHost() { run_on(loop_, close()); }

ExecutionResult ProviderHost::run(const ExecutionRequest& request) {
  LifecycleServices services{.store = *store_,
                             .provider = loaded_->provider(),
                             .clock = clock_,
                             .holders = *lock_,
                             .self = lock_->holder(),
                             .host_tag = lock_->host_tag()};
  Cancellation cancellation;
  return run_on(loop_, execute(services, request, nullptr, cancellation));
}

Task<bool> ProviderHost::close() {
  co_await loaded_->close(clock_.now() + std::chrono::seconds(10));
  co_return true;
}

}  // namespace berth::test
