#include "core/conformance/comparison.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <string_view>

namespace berth::conformance {
namespace {

namespace json = boost::json;

// What a case's status is worth: shown to hold, not shown, shown to be broken. A known deviation shows
// nothing.
enum class Worth { kBroken, kNothing, kShown };

Worth worth_of(std::optional<CaseStatus> status) {
  if (!status || *status == CaseStatus::kHarness) return Worth::kNothing;
  if (is_bad(*status)) return Worth::kBroken;
  return *status == CaseStatus::kPass || *status == CaseStatus::kWarn ? Worth::kShown : Worth::kNothing;
}

Change change_of(Worth before, Worth after) {
  if (before == after) return Change::kDifferent;
  // Whether a broken clause that is only not shown any more is better, nobody knows.
  if (before == Worth::kBroken && after == Worth::kNothing) return Change::kDifferent;
  return after < before ? Change::kWorse : Change::kBetter;
}

using ById = std::map<std::string_view, const CaseResult*>;

ById by_id(const RunReport& report) {
  ById out;
  for (const CaseResult& one : report.cases) out.emplace(one.id, &one);
  return out;
}

const CaseResult* find(const ById& all, std::string_view id) {
  const auto found = all.find(id);
  return found == all.end() ? nullptr : found->second;
}

json::value status_or_null(std::optional<CaseStatus> status) {
  return status ? json::value(to_string(*status)) : json::value(nullptr);
}

}  // namespace

std::string_view to_string(Change change) {
  switch (change) {
    case Change::kWorse: return "worse";
    case Change::kBetter: return "better";
    case Change::kDifferent: return "different";
  }
  return "different";
}

std::size_t Comparison::count(Change change) const {
  return static_cast<std::size_t>(std::count_if(
      changed.begin(), changed.end(), [change](const ChangedCase& one) { return one.change == change; }));
}

Comparison compare(const RunReport& before, const RunReport& after) {
  Comparison out;
  const ById earlier = by_id(before);
  const ById later = by_id(after);
  const auto judge = [&out](const CaseResult* old_one, const CaseResult* new_one) {
    const CaseResult& one = new_one != nullptr ? *new_one : *old_one;
    if (old_one != nullptr && new_one != nullptr && old_one->status == new_one->status) {
      ++out.same;
      return;
    }
    ChangedCase changed{one.id, one.clause, Change::kDifferent, {}, {}, one.text};
    if (old_one != nullptr) changed.before = old_one->status;
    if (new_one != nullptr) changed.after = new_one->status;
    changed.change = change_of(worth_of(changed.before), worth_of(changed.after));
    out.changed.push_back(std::move(changed));
  };
  for (const CaseResult& one : before.cases) judge(&one, find(later, one.id));
  for (const CaseResult& one : after.cases)
    if (find(earlier, one.id) == nullptr) judge(nullptr, &one);
  std::stable_sort(out.changed.begin(), out.changed.end(),
                   [](const ChangedCase& a, const ChangedCase& b) { return a.change < b.change; });
  return out;
}

json::value to_json(const Comparison& comparison) {
  json::array changed;
  for (const ChangedCase& one : comparison.changed)
    changed.push_back(json::object{{"id", one.id},
                                   {"clause", one.clause},
                                   {"change", to_string(one.change)},
                                   {"before", status_or_null(one.before)},
                                   {"after", status_or_null(one.after)},
                                   {"text", one.text}});
  return json::object{{"worse", comparison.count(Change::kWorse)},
                      {"better", comparison.count(Change::kBetter)},
                      {"different", comparison.count(Change::kDifferent)},
                      {"same", comparison.same},
                      {"changed", std::move(changed)}};
}

}  // namespace berth::conformance
