// What crossing the binary contract itself costs, in process, without the host that stands behind it.
#ifndef BERTH_TOOLS_BENCH_ABI_CALLS_H_
#define BERTH_TOOLS_BENCH_ABI_CALLS_H_

#include <filesystem>

#include "core/base/result.h"
#include "tools/bench/samples.h"

namespace berth::bench {

struct AbiCalls {
  Samples call;       // get_extension of an unknown id: a call and a return
  Samples operation;  // lookup of an unknown name: a slot that ends its operation before it returns
};

// Loads the reference provider's shared object into this process, opens it with a host of a few
// lines, and calls its table. Each sample is the mean of a thousand calls.
Result<AbiCalls> abi_calls(const std::filesystem::path& provider);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_ABI_CALLS_H_
