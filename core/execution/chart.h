// Charts as foreign input: a dictionary that must be a line, scatter or bar chart, or a PNG file.
#ifndef BERTH_CORE_EXECUTION_CHART_H_
#define BERTH_CORE_EXECUTION_CHART_H_

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace berth {

// The chart with exactly the fields of the schema, or why it is none:
//   common   type, title?, x_label?, y_label?, elements
//   line     x_scale? ("datetime" or null), elements of {label, points: [[number|text|null, number|null]]}
//   scatter  the same
//   bar      elements of {group?, label, value: number|null}
// Other fields are left out.
Result<boost::json::value> validate_chart(const boost::json::value& chart);

struct PngSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// The size in pixels that a whole PNG file declares. Checks signature, header and end, not the
// picture data.
Result<PngSize> png_size(std::string_view file);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_CHART_H_
