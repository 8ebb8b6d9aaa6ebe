#include "tools/bench/samples.h"

#include <algorithm>

namespace berth::bench {

double Samples::quantile_ns(double share) const {
  if (took_ns_.empty()) return 0;
  std::vector<double> sorted = took_ns_;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at), sorted.end());
  return sorted[at];
}

boost::json::object Samples::to_json() const {
  return {{"samples", count()},
          {"median_ns", median_ns()},
          {"p10_ns", quantile_ns(0.1)},
          {"p90_ns", quantile_ns(0.9)},
          {"p99_ns", quantile_ns(0.99)}};
}

}  // namespace berth::bench
