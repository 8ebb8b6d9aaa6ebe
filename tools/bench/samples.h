// Samples: repeated measurements of one thing, and what they say together.
//
// One thread at a time. Times are nanoseconds.
#ifndef BERTH_TOOLS_BENCH_SAMPLES_H_
#define BERTH_TOOLS_BENCH_SAMPLES_H_

#include <boost/json/object.hpp>
#include <cstddef>
#include <vector>

#include "core/base/time.h"

namespace berth::bench {

class Samples {
 public:
  void add(Duration took) { took_ns_.push_back(static_cast<double>(took.count())); }
  std::size_t count() const { return took_ns_.size(); }

  // The value below which `share` (0 to 1) of the samples lie; 0 without samples.
  double quantile_ns(double share) const;
  double median_ns() const { return quantile_ns(0.5); }

  // {"samples": n, "median_ns": ..., "p10_ns": ..., "p90_ns": ..., "p99_ns": ...}
  boost::json::object to_json() const;

 private:
  std::vector<double> took_ns_;
};

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_SAMPLES_H_
