// Two reports, and what became better or worse from one to the other.
#ifndef BERTH_CORE_CONFORMANCE_COMPARISON_H_
#define BERTH_CORE_CONFORMANCE_COMPARISON_H_

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/results.h"

namespace berth::conformance {

enum class Change {
  kWorse,      // it was not bad and is, or it was shown and is not any more
  kBetter,     // it was bad and is not, or it is shown now
  kDifferent,  // neither: bad in another way, skipped for another reason
};
std::string_view to_string(Change change);

struct ChangedCase {
  std::string id;
  std::string clause;
  Change change = Change::kDifferent;
  std::optional<CaseStatus> before;  // absent: the report has no such case
  std::optional<CaseStatus> after;
  std::string text;  // the later report's, or the earlier one's where the later has none
};

struct Comparison {
  std::vector<ChangedCase> changed;  // worse first, each in the order of the reports
  std::size_t same = 0;

  std::size_t count(Change change) const;
};

Comparison compare(const RunReport& before, const RunReport& after);
boost::json::value to_json(const Comparison& comparison);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_COMPARISON_H_
