// The third way to host a provider: in a keeper, which is found, or started where there is none.
#ifndef BERTH_CORE_PLUGIN_KEPT_SOURCE_H_
#define BERTH_CORE_PLUGIN_KEPT_SOURCE_H_

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/plugin/sources.h"

namespace berth::plugin {

// What is to be kept, and for whom.
struct KeptPlan {
  Keeping keeping;
  OpenSpec open;  // what it is opened with; the state folder is not empty
  std::function<void(LogLevel, std::string_view)> on_log;  // may be empty
};

// Makes channels to a keeper as long as that works. Once it did not, or the keeper was lost, this host has
// workers of its own: `plan` says how.
class KeptSource : public ChannelSource {
 public:
  // Whether the channel that was made last leads to a keeper.
  virtual bool kept() const = 0;
};
std::unique_ptr<KeptSource> kept_source(boost::asio::any_io_executor executor, SourcePlan plan,
                                        KeptPlan kept);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_KEPT_SOURCE_H_
