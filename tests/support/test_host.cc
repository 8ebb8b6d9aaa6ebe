#include "tests/support/test_host.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "core/lifecycle/reconcile.h"

namespace berth::testing {

TestHost::TestHost(World& world, MemoryRows& rows, Cloud& cloud, WorldHolders& holders, int id,
                   Scope scope, Store* store)
    : world_(world),
      holders_(holders),
      id_(id),
      loop_(std::make_unique<boost::asio::io_context>(1)),
      clock(world, id),
      memory_store(world, id, rows),
      provider(world, id, cloud, std::move(scope)),
      services{store != nullptr ? *store : memory_store,
               provider,
               clock,
               holders,
               {"boot", "host-" + std::to_string(id), "lock-" + std::to_string(id)},
               "tag"} {
  holders_.living.insert(services.self.lock_path);
  record_late_answers(services, loop_->get_executor());
}

TestHost::~TestHost() {
  holders_.living.erase(services.self.lock_path);
  // What the world still holds of this host points into its coroutines; they end with the loop.
  world_.forget(id_);
  loop_.reset();
}

void TestHost::poll() {
  loop_->restart();
  loop_->poll();
}

void TestHost::spawn(Task<void> task) {
  boost::asio::co_spawn(*loop_, std::move(task), boost::asio::detached);
}

Scope model_scope(std::string account) {
  return {{"account", std::move(account)}, {"endpoint", "model://cloud"}};
}

}  // namespace berth::testing
