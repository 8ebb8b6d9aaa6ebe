// Cases and clauses as people write them: in any case, and sometimes mistyped.
#ifndef BERTH_TOOLS_BERTH_CASE_NAMES_H_
#define BERTH_TOOLS_BERTH_CASE_NAMES_H_

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tools/berth/options.h"

namespace berth::cli {

// "key-001" as "KEY-001".
std::string as_id(std::string_view text);

enum class Among { kCases, kClauses, kBoth };
// "; near it are KEY-001, KEY-101", of those there are; empty when none is near.
std::string near_ids(std::string_view text, Among among);

// Refuses an id of --allow that is no case's, and a pattern of --only or --skip that no case of the kit matches:
// a mistyped one would silently ask for something else.
Status check_case_names(const ConformanceRunOptions& options);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CASE_NAMES_H_
