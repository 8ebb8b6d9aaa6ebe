// The contract's clauses, as sdk/docs/CONTRACT.md has them: the page itself is compiled in.
#ifndef BERTH_CORE_CONFORMANCE_CONTRACT_H_
#define BERTH_CORE_CONFORMANCE_CONTRACT_H_

#include <span>
#include <string>
#include <string_view>

namespace berth::conformance {

struct Clause {
  std::string id;
  std::string text;
  std::string why;  // may be empty
  std::string enforced_by;
};

std::span<const Clause> all_clauses();
const Clause* find_clause(std::string_view id);
// Says in its last column that it cannot be tested from outside, and why.
bool is_testable(const Clause& clause);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_CONTRACT_H_
