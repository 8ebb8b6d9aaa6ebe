// Machines: where a stand-in's sandboxes really are. The local provider, loaded as any host loads it, in a
// worker of its own; in more than one where there are more sandboxes than one has operations for.
#ifndef BERTH_TESTS_STANDINS_SERVER_MACHINES_H_
#define BERTH_TESTS_STANDINS_SERVER_MACHINES_H_

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/plugin/load.h"
#include "tests/standins/server/bell.h"

namespace berth::standins {

struct MachineFiles {
  std::filesystem::path provider;  // local.so
  std::filesystem::path worker;    // berth-worker
  std::filesystem::path agent;     // what runs in each sandbox
  std::filesystem::path state;     // a private folder of the provider
};

// One loaded provider, and how many guests it has: each keeps one of its operations as long as it lives.
struct Worker {
  std::unique_ptr<plugin::LoadedProvider> loaded;
  std::size_t guests = 0;
};

class Machines {
 public:
  static Task<Result<std::unique_ptr<Machines>>> open(boost::asio::any_io_executor executor,
                                                      MachineFiles files);

  const boost::asio::any_io_executor& executor() const { return executor_; }
  const std::string& agent() const { return agent_; }
  const std::string& owner_tag() const { return owner_tag_; }
  std::string fresh_name();

  // A worker for one more guest, which gives it back by --guests. Valid until close().
  Task<Result<Worker*>> place();
  // How many sandboxes there are, by the provider's own word.
  Task<Result<std::size_t>> count();

  // The workers end, and every sandbox with them.
  Task<void> close();

 private:
  Machines(boost::asio::any_io_executor executor, MachineFiles files, std::string agent);
  Task<Status> add_worker();

  boost::asio::any_io_executor executor_;
  MachineFiles files_;
  std::string agent_;
  std::string owner_tag_;
  std::vector<std::unique_ptr<Worker>> workers_;
  bool adding_ = false;
  Bell added_;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_MACHINES_H_
