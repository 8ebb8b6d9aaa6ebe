// Case: one clause of the contract, shown or broken by one provider.
//
// A case runs in a child process of its own, with a loaded provider and a directory nobody else has.
// It talks to the provider through Lab and ends with what it found:
//   success                              the clause holds, as far as this case can see
//   an error of kind kUnavailable        this machine or this provider's world lacks what the case needs
//   an error of kind kLimit (warned(...))  it holds, and someone should know
//   an error of kind kInternal           the kit itself failed: never blamed on the provider
//   any other error (violated(...))      the clause is broken, and the message says how
//
// The case whose number is its clause's own is that clause's keeper: a breach that the host's own
// checks see during any other case is held against the keeper, so that it is reported once and in
// its place.
#ifndef BERTH_CORE_CONFORMANCE_CASE_H_
#define BERTH_CORE_CONFORMANCE_CASE_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/registry/manifest.h"

namespace berth::conformance {

class Lab;

// Each contains the one before it.
enum class Profile { kSmoke, kFull, kStress };

// How far the provider is brought before the body starts.
enum class Start {
  kFile,    // not loaded: the body does that itself
  kLoaded,  // entry called and table checked
  kOpen,    // `open` is DONE
};

struct Case {
  std::string_view id;      // "KEY-001": for ever
  std::string_view slug;    // "the-same-name-is-the-same-sandbox"
  std::string_view clause;  // of sdk/docs/CONTRACT.md
  Profile profile;          // the smallest that has it
  Start start;
  std::string_view sentence;  // what it does and expects, without a full stop
  Status (*body)(Lab& lab);
  std::string_view capability = {};  // claimed, or the case is skipped; empty: every provider
};

// Where a case's capability is this one, the manifest must say recovery "fence".
inline constexpr std::string_view kFences = "recovery=fence";
// Whether the provider claims what the case is about.
bool applies(const Case& one, const registry::Manifest& manifest);

inline bool keeps_clause(const Case& one) { return one.id == one.clause; }

inline tl::unexpected<Error> violated(std::string how) {
  return fail(ErrorKind::kConflict, std::move(how));
}
inline tl::unexpected<Error> warned(std::string of) { return fail(ErrorKind::kLimit, std::move(of)); }
// The machine, or what is behind the provider, lacks what the case needs.
inline tl::unexpected<Error> lacking(std::string what) {
  return fail(ErrorKind::kUnavailable, std::move(what));
}

// All cases in the order in which they are listed and run.
std::span<const Case> all_cases();
const Case* find_case(std::string_view id);

// One list per area; each in cases/<area>.cc.
using CaseList = std::span<const Case>;
CaseList meta_cases();
CaseList load_cases();
CaseList scope_cases();
CaseList op_cases();
CaseList key_cases();
CaseList out_cases();
CaseList program_cases();
CaseList file_cases();
CaseList canc_cases();
CaseList strm_cases();
CaseList clean_cases();
CaseList fence_cases();
CaseList conc_cases();
CaseList mem_cases();
CaseList shut_cases();
CaseList fault_cases();

std::string_view to_string(Profile profile);
// '*' stands for any number of characters, '?' for one. Matches the id or "id slug", in any case.
bool matches(const Case& one, std::string_view glob);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_CASE_H_
