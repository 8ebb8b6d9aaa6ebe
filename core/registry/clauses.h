// The contract's clauses that the loader cites. sdk/docs/CONTRACT.md has their words.
#ifndef BERTH_CORE_REGISTRY_CLAUSES_H_
#define BERTH_CORE_REGISTRY_CLAUSES_H_

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
