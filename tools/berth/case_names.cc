#include "tools/berth/case_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "core/base/json.h"
#include "core/conformance/case.h"
#include "core/registry/clauses.h"

namespace berth::cli {
namespace {

using conformance::Case;

constexpr std::size_t kShownBytesMax = 64;
constexpr std::size_t kDistanceMax = 2;
constexpr std::size_t kNamedMax = 4;

// How many characters must be put in, taken out, exchanged for others or swapped with the next.
std::size_t distance_of(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) steps[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) steps[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, exchanged});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

std::string shown(std::string_view text) { return to_valid_utf8(text.substr(0, kShownBytesMax)); }

Status matches_some_case(std::string_view option, const std::string& glob) {
  const auto all = conformance::all_cases();
  if (std::any_of(all.begin(), all.end(), [&](const Case& one) { return matches(one, glob); })) return {};
  return fail(ErrorKind::kInvalidArgument,
              fmt::format("{} '{}' matches no case{}; see 'berth conformance list'", option, shown(glob),
                          near_ids(glob, Among::kCases)));
}

}  // namespace

std::string as_id(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

std::string near_ids(std::string_view text, Among among) {
  if (text.size() > kShownBytesMax) return {};
  std::set<std::string> ids;
  if (among != Among::kClauses)
    for (const Case& one : conformance::all_cases()) ids.emplace(one.id);
  if (among != Among::kCases)
    for (const registry::Clause& clause : registry::clauses()) ids.emplace(clause.id);
  const std::string wanted = as_id(text);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& id : ids)
    if (const std::size_t distance = distance_of(wanted, id); distance <= kDistanceMax) near.emplace_back(distance, id);
  std::sort(near.begin(), near.end());
  if (near.empty()) return {};
  // Only the nearest: a digit away are all the others of the area.
  std::vector<std::string> named;
  for (const auto& [distance, id] : near)
    if (distance == near.front().first && named.size() < kNamedMax) named.push_back(id);
  return fmt::format("; near it {} {}", named.size() == 1 ? "is" : "are", fmt::join(named, ", "));
}

Status check_case_names(const ConformanceRunOptions& options) {
  for (const std::string& id : options.allow)
    if (conformance::find_case(as_id(id)) == nullptr)
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("--allow '{}' is no case{}; see 'berth conformance list'", shown(id), near_ids(id, Among::kCases)));
  for (const std::string& glob : options.only) BERTH_CHECK_OK(matches_some_case("--only", glob));
  for (const std::string& glob : options.skip) BERTH_CHECK_OK(matches_some_case("--skip", glob));
  return {};
}

}  // namespace berth::cli
