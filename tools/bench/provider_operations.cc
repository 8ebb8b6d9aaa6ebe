#include "tools/bench/provider_operations.h"

#include <fmt/format.h>

#include <utility>

namespace berth::bench {

Task<Result<Samples>> lookups(Provider& provider, int count) {
  Samples samples;
  for (int i = -count / 10; i < count; ++i) {
    const Instant begun = now();
    OperationContext context{.deadline = begun + std::chrono::seconds(10)};
    const auto answer = co_await provider.lookup(std::move(context), "berth-bench-unknown");
    const Duration took = now() - begun;
    if (!answer.outcome.done())
      co_return fail(ErrorKind::kInternal,
                     fmt::format("a lookup is not done: {}", answer.outcome.message));
    if (i >= 0) samples.add(took);
  }
  co_return samples;
}

}  // namespace berth::bench
