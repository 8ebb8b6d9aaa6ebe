// Machines: where a stand-in's sandboxes really are. The local provider, loaded as any host loads it, in a
// worker of its own.
#ifndef BERTH_TESTS_STANDINS_SERVER_MACHINES_H_
#define BERTH_TESTS_STANDINS_SERVER_MACHINES_H_

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/plugin/load.h"

namespace berth::standins {

struct MachineFiles {
  std::filesystem::path provider;  // local.so
  std::filesystem::path worker;    // berth-worker
  std::filesystem::path agent;     // what runs in each sandbox
  std::filesystem::path state;     // a private folder of the provider
};

class Machines {
 public:
  static Task<Result<std::unique_ptr<Machines>>> open(boost::asio::any_io_executor executor,
                                                      MachineFiles files);

  Provider& provider() { return loaded_->provider(); }
  const boost::asio::any_io_executor& executor() const { return executor_; }
  const std::string& agent() const { return agent_; }
  const std::string& owner_tag() const { return owner_tag_; }
  std::string fresh_name();
  // How many sandboxes there are, by the provider's own word.
  Task<Result<std::size_t>> count();

  // The worker ends, and every sandbox with it.
  Task<void> close();

 private:
  Machines(boost::asio::any_io_executor executor, std::unique_ptr<plugin::LoadedProvider> loaded,
           std::string agent, std::string owner_tag)
      : executor_(std::move(executor)),
        loaded_(std::move(loaded)),
        agent_(std::move(agent)),
        owner_tag_(std::move(owner_tag)) {}

  boost::asio::any_io_executor executor_;
  std::unique_ptr<plugin::LoadedProvider> loaded_;
  std::string agent_;
  std::string owner_tag_;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_MACHINES_H_
