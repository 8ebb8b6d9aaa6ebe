#include "tools/bench/provider_operations.h"

#include <fmt/format.h>

namespace berth::bench {

Task<Result<Samples>> lookups(Provider& provider, int count) {
  Samples samples;
  for (int i = -count / 10; i < count; ++i) {
    const Instant begun = now();
    const auto answer = co_await provider.lookup(
        OperationContext{.deadline = begun + std::chrono::seconds(10)}, "berth-bench-unknown");
    const Duration took = now() - begun;
    if (!answer.outcome.done())
      co_return fail(ErrorKind::kInternal,
                     fmt::format("a lookup is not done: {}", answer.outcome.message));
    if (i >= 0) samples.add(took);
  }
  co_return samples;
}

}  // namespace berth::bench
