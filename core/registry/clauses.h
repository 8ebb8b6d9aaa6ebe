// The contract's clauses: their words, from sdk/docs/CONTRACT.md, and the names of those the loader cites.
#ifndef BERTH_CORE_REGISTRY_CLAUSES_H_
#define BERTH_CORE_REGISTRY_CLAUSES_H_

#include <string>
#include <string_view>
#include <vector>

namespace berth::registry {

// One clause in the contract's own words, Markdown and all. All are sentences; none is empty.
struct Clause {
  std::string id;           // "META-003"
  std::string text;         // what it asks
  std::string why;          // what it is for
  std::string enforced_by;  // "loader", "host, case", ...
  std::string remedy;       // what to do about a breach
};

// Every clause of a contract written like sdk/docs/CONTRACT.md, in its order.
std::vector<Clause> parse_clauses(std::string_view contract);

// Those of the contract this host was built with; parsed once.
const std::vector<Clause>& clauses();

// The clause of this id; nullptr when the contract has none.
const Clause* find_clause(std::string_view id);

// The same for a person: id, text, reason, who enforces it and the remedy, without Markdown's marks.
std::string explain(const Clause& clause);

namespace embedded {
std::string_view contract_md();
}  // namespace embedded

}  // namespace berth::registry

namespace berth::registry::clause {

inline constexpr char kNotes[] = "META-001";          // both notes are there and well formed
inline constexpr char kNotesAgree[] = "META-002";     // note and manifest say the same
inline constexpr char kManifest[] = "META-003";       // the manifest follows the schema
inline constexpr char kClaimsBacked[] = "META-004";   // every claim has its table
inline constexpr char kUnclaimed[] = "META-005";      // nothing is implemented but not claimed
inline constexpr char kProbeClaimed[] = "META-006";   // a probe reports claimed capabilities only
inline constexpr char kKind[] = "META-007";           // the kind is one this host loads
inline constexpr char kRequired[] = "META-008";       // what version 1 requires of every provider
inline constexpr char kFile[] = "LOAD-001";           // a regular, bounded, readable file
inline constexpr char kElf[] = "LOAD-002";            // a shared object for this machine
inline constexpr char kHardening[] = "LOAD-003";      // no text relocation, executable stack, run path
inline constexpr char kExports[] = "LOAD-004";        // exports the entry and nothing else
inline constexpr char kEntry[] = "LOAD-005";          // the entry answers and does nothing else
inline constexpr char kLoadTimeCode[] = "LOAD-006";   // loading runs no code of the provider's own
inline constexpr char kDigest[] = "TRUST-001";        // the file is the one the lock file names
inline constexpr char kSignature[] = "TRUST-002";     // signed by a trusted key where that is asked
inline constexpr char kQuarantine[] = "TRUST-003";    // not one that crashed at load again and again
inline constexpr char kMajor[] = "NEG-001";           // the same major
inline constexpr char kMinor[] = "NEG-002";           // a minor this host has, within its offer
inline constexpr char kHostExtensions[] = "NEG-003";  // host extensions it requires are offered
inline constexpr char kTable[] = "NEG-004";           // every required slot is there
inline constexpr char kReply[] = "NEG-005";           // sizes, chosen minor and reserved fields
inline constexpr char kPointers[] = "NEG-006";        // pointers lie in the provider's own library

}  // namespace berth::registry::clause

#endif  // BERTH_CORE_REGISTRY_CLAUSES_H_
