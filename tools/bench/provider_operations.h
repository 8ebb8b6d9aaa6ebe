// What one operation of a loaded provider costs the host: validated, awaited, answered.
#ifndef BERTH_TOOLS_BENCH_PROVIDER_OPERATIONS_H_
#define BERTH_TOOLS_BENCH_PROVIDER_OPERATIONS_H_

#include <boost/asio/any_io_executor.hpp>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/plugin/load.h"
#include "tools/bench/samples.h"

namespace berth::bench {

// `count` lookups of an unknown name, one after the other, after a tenth as many unmeasured ones.
Task<Result<Samples>> lookups(Provider& provider, int count);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_PROVIDER_OPERATIONS_H_
