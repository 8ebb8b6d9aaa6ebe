// How many whole calls a second: intent, create, confirmation, run, cleanup, release with receipt.
#ifndef BERTH_TOOLS_BENCH_DURABLE_EXECUTIONS_H_
#define BERTH_TOOLS_BENCH_DURABLE_EXECUTIONS_H_

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/with_sandbox.h"

namespace berth::bench {

// Keeps `in_flight` calls going for about `budget` and returns how many were completed a second.
// Any call that does not complete is an error.
Task<Result<double>> executions_per_second(LifecycleServices& services,
                                           boost::asio::any_io_executor executor,
                                           std::size_t in_flight, Duration budget);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_DURABLE_EXECUTIONS_H_
