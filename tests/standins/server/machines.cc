#include "tests/standins/server/machines.h"

#include <boost/json/object.hpp>
#include <utility>

#include "core/base/ids.h"
#include "core/os/fd.h"

namespace berth::standins {
namespace {

constexpr std::size_t kAgentBytesMax = std::size_t{16} << 20;
constexpr std::size_t kTagBytes = 8;
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

Task<Result<std::unique_ptr<Machines>>> Machines::open(boost::asio::any_io_executor executor,
                                                       MachineFiles files) {
  BERTH_CO_TRY(std::string agent, os::read_file(files.agent, kAgentBytesMax));
  std::string tag = random_hex(kTagBytes);
  plugin::LoadRequest request;
  request.id = "local";
  request.file = files.provider;
  request.worker = files.worker;
  request.state_dir = files.state;
  request.owner_tag = tag;
  request.configuration.providers["local"].config = local_config();
  auto loaded = co_await plugin::load_provider(executor, std::move(request));
  if (!loaded) co_return fail(std::move(loaded).error());
  co_return std::unique_ptr<Machines>(
      new Machines(std::move(executor), std::move(*loaded), std::move(agent), std::move(tag)));
}

std::string Machines::fresh_name() { return "standin-" + random_hex(kTagBytes); }

Task<Result<std::size_t>> Machines::count() {
  OperationContext context;
  context.deadline = std::chrono::steady_clock::now() + kListBound;
  auto listed = co_await provider().list_owned(context, owner_tag_);
  if (!listed.outcome.done()) co_return fail(ErrorKind::kUnavailable, listed.outcome.message);
  co_return listed.value.size();
}

Task<void> Machines::close() { return loaded_->close(std::chrono::steady_clock::now() + kCloseBound); }

}  // namespace berth::standins
