// FaultChannel: the way to a worker, with a fault on it.
#ifndef BERTH_CORE_CONFORMANCE_FAULT_CHANNEL_H_
#define BERTH_CORE_CONFORMANCE_FAULT_CHANNEL_H_

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "core/conformance/fault_host.h"
#include "core/plugin/channel.h"

namespace berth::conformance {

// Makes channels of `inner`'s with the fault that `plan` says at the moment.
std::unique_ptr<plugin::ChannelSource> faulty_source(boost::asio::any_io_executor executor,
                                                     std::unique_ptr<plugin::ChannelSource> inner,
                                                     std::shared_ptr<const FaultPlan> plan);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_FAULT_CHANNEL_H_
