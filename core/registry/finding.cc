#include "core/registry/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::registry {

std::string to_sentence(const Finding& finding) {
  std::string text = fmt::format("[{}] ", finding.clause);
  if (!finding.claimed.empty()) text += fmt::format("claimed: {}; ", finding.claimed);
  text += fmt::format("found: {}; to do: {}", finding.found, finding.remedy);
  return text;
}

bool refuses(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kRefusal; });
}

Error refusal(const std::string& what, const Findings& findings) {
  std::string text = fmt::format("{} is refused", what);
  for (const Finding& finding : findings)
    if (finding.severity == Severity::kRefusal) text += "\n  " + to_sentence(finding);
  return Error(ErrorKind::kRefused, std::move(text));
}

boost::json::value to_json(const Findings& findings) {
  boost::json::array out;
  for (const Finding& finding : findings)
    out.push_back(boost::json::object{
        {"severity", finding.severity == Severity::kRefusal ? "refusal" : "warning"},
        {"clause", finding.clause},
        {"claimed", finding.claimed},
        {"found", finding.found},
        {"remedy", finding.remedy}});
  return out;
}

}  // namespace berth::registry
