// What became of cases, and of a run of them.
#ifndef BERTH_CORE_CONFORMANCE_RESULTS_H_
#define BERTH_CORE_CONFORMANCE_RESULTS_H_

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/conformance/case.h"
#include "core/plugin/abi_reply.h"

namespace berth::conformance {

enum class CaseStatus {
  kPass,
  kFail,             // the clause is broken
  kCrash,            // its process was ended by a signal, or ended by itself
  kTimeout,          // its process was ended when its time was over
  kLeak,             // it held, and left something behind
  kSkipUndeclared,   // the provider does not claim the capability
  kSkipEnvironment,  // this machine lacks what the case needs
  kKnownDeviation,   // bad, and allowed by name; ticks nothing
  kWarn,
  kHarness,  // the kit failed: says nothing of the provider
};
std::string_view to_string(CaseStatus status);
Result<CaseStatus> parse_case_status(std::string_view text);
bool is_bad(CaseStatus status);
bool is_skip(CaseStatus status);

struct CaseResult {
  std::string id;
  std::string clause;
  CaseStatus status = CaseStatus::kHarness;
  std::string text;       // why it is not a pass
  std::string operation;  // the last one begun
  std::string stage;      // and how far it had come
  std::vector<std::string> notes;
  std::vector<plugin::Violation> violations;  // seen by the host's own checks, of any clause
  std::string printed;                        // the end of what its process printed
  Duration took{0};
};

struct RunReport {
  std::string provider;
  std::string version;
  std::string digest;
  std::string file;
  std::string capabilities;  // claimed, separated by spaces
  Scope scope;
  std::string host;  // kernel and machine
  std::string profile;
  std::uint64_t seed = 0;
  WallTime started{};
  Duration took{0};
  bool whole = false;    // every case of the profile, none left out by hand
  std::string refusal;   // the loader's; empty: it loads
  std::vector<CaseResult> cases;
  bool interrupted = false;

  std::size_t passed() const;
  std::size_t failed() const;
  std::size_t skipped() const;
  std::string tally() const;  // "N passed, N failed, N skipped"
  // 0 all good and at least one ran; 1 something bad; 2 nothing ran; 3 the loader refuses; 4 the kit
  // itself failed.
  int exit_code() const;
};

// Holds every breach that was seen during some case against the keeper of its clause, or against
// that case where the keeper is not among `report`'s. A clause of a larger profile is only noted.
void attribute_violations(RunReport& report);

boost::json::value to_json(const RunReport& report);
Result<RunReport> parse_report(std::string_view text);
std::string to_junit(const RunReport& report);
// One page that needs nothing else.
std::string to_html(const RunReport& report);
// Text inside an element or a quoted attribute, of XML and of HTML.
std::string escaped_markup(std::string_view text);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_RESULTS_H_
