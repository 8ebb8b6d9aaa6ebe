#include "tests/standins/server/machines.h"

#include <boost/json/object.hpp>
#include <utility>

#include "core/base/ids.h"
#include "core/os/fd.h"

namespace berth::standins {
namespace {

constexpr std::size_t kAgentBytesMax = std::size_t{16} << 20;
constexpr std::size_t kTagBytes = 8;
// The provider has 64 operations at once; what is left over serves creates, files and removals.
constexpr std::size_t kGuestsOfOneWorker = 56;
constexpr Duration kListBound = std::chrono::seconds(30);
constexpr Duration kCloseBound = std::chrono::seconds(20);

// Many commands at once are one sandbox's, and what they write is not the sandbox's to judge.
boost::json::object local_config() {
  return {{"startup", "cold"},
          {"processes", 4096},
          {"openFiles", 16384},
          {"outputKillBytes", 0},
          {"cpuMillis", 2000},
          {"memoryBytes", std::int64_t{1} << 30}};
}

}  // namespace

Machines::Machines(boost::asio::any_io_executor executor, MachineFiles files, std::string agent)
    : executor_(executor),
      files_(std::move(files)),
      agent_(std::move(agent)),
      owner_tag_(random_hex(kTagBytes)),
      added_(executor) {}

Task<Result<std::unique_ptr<Machines>>> Machines::open(boost::asio::any_io_executor executor,
                                                       MachineFiles files) {
  BERTH_CO_TRY(std::string agent, os::read_file(files.agent, kAgentBytesMax));
  std::unique_ptr<Machines> machines(new Machines(executor, std::move(files), std::move(agent)));
  BERTH_CO_CHECK_OK(co_await machines->add_worker());
  co_return machines;
}

Task<Status> Machines::add_worker() {
  plugin::LoadRequest request;
  request.id = "local";
  request.file = files_.provider;
  request.worker = files_.worker;
  request.state_dir = files_.state / std::to_string(workers_.size());
  request.owner_tag = owner_tag_;
  request.configuration.providers["local"].config = local_config();
  std::filesystem::create_directories(files_.state);
  adding_ = true;
  auto loaded = co_await plugin::load_provider(executor_, std::move(request));
  adding_ = false;
  added_.ring();
  if (!loaded) co_return fail(std::move(loaded).error());
  auto worker = std::make_unique<Worker>();
  worker->loaded = std::move(*loaded);
  workers_.push_back(std::move(worker));
  co_return Status{};
}

std::string Machines::fresh_name() { return "standin-" + random_hex(kTagBytes); }

Task<Result<Worker*>> Machines::place() {
  while (true) {
    for (const std::unique_ptr<Worker>& one : workers_) {
      if (one->guests == kGuestsOfOneWorker) continue;
      ++one->guests;
      co_return one.get();
    }
    if (adding_) {
      co_await added_.wait();
    } else {
      BERTH_CO_CHECK_OK(co_await add_worker());
    }
  }
}

Task<Result<std::size_t>> Machines::count() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    OperationContext context;
    context.deadline = std::chrono::steady_clock::now() + kListBound;
    auto listed = co_await workers_[i]->loaded->provider().list_owned(context, owner_tag_);
    if (!listed.outcome.done()) co_return fail(ErrorKind::kUnavailable, listed.outcome.message);
    count += listed.value.size();
  }
  co_return count;
}

Task<void> Machines::close() {
  for (const std::unique_ptr<Worker>& one : workers_) {
    co_await one->loaded->close(std::chrono::steady_clock::now() + kCloseBound);
  }
}

}  // namespace berth::standins
