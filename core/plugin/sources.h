// The two ways to host a provider, as sources of channels.
#ifndef BERTH_CORE_PLUGIN_SOURCES_H_
#define BERTH_CORE_PLUGIN_SOURCES_H_

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "core/os/fd.h"
#include "core/plugin/channel.h"
#include "core/plugin/load.h"
#include "core/registry/inspect.h"
#include "core/registry/quarantine.h"

namespace berth::plugin {

// What both need to know of the provider that is to be loaded.
struct SourcePlan {
  registry::ProviderImage image;  // with a sealed copy and a manifest
  std::string config_json;
  std::filesystem::path worker;
  HostingLimits limits;
  registry::Quarantine* quarantine = nullptr;
  // Receives what binding found beside refusals.
  std::shared_ptr<registry::Findings> warnings = std::make_shared<registry::Findings>();
  std::function<void(std::string_view)> on_progress;
};

std::unique_ptr<ChannelSource> worker_source(boost::asio::any_io_executor executor,
                                             SourcePlan plan);
std::unique_ptr<ChannelSource> direct_source(boost::asio::any_io_executor executor,
                                             SourcePlan plan);

// How its worker is started. The library is the plan's own.
struct WorkerPlan worker_plan(const SourcePlan& plan);

// The program that hosts a provider, beside this executable; an error that says where it was sought.
Result<std::filesystem::path> find_worker();

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_SOURCES_H_
