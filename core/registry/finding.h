// Finding: one thing that is wrong, or odd, with a provider's file, in words for its author.
#ifndef BERTH_CORE_REGISTRY_FINDING_H_
#define BERTH_CORE_REGISTRY_FINDING_H_

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace berth::registry {

enum class Severity {
  kRefusal,  // a host does not load this file
  kWarning,  // it loads, but someone should know
};

// All texts are sentences without a full stop; none is empty but `claimed`.
struct Finding {
  Severity severity = Severity::kRefusal;
  std::string clause;   // of the contract: "META-003"
  std::string claimed;  // what the provider says of itself; empty when nothing was claimed
  std::string found;    // what is there instead
  std::string remedy;   // what to do
};

using Findings = std::vector<Finding>;

// "[META-003] claims ...; found ...; remedy".
std::string to_sentence(const Finding& finding);

// True when one of them refuses the file.
bool refuses(const Findings& findings);

// One error of kind kRefused that names `what` and carries every refusal, one a line.
Error refusal(const std::string& what, const Findings& findings);

boost::json::value to_json(const Findings& findings);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_FINDING_H_
