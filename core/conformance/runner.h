// Running cases: each in a child process, several at once, every one bounded.
#ifndef BERTH_CORE_CONFORMANCE_RUNNER_H_
#define BERTH_CORE_CONFORMANCE_RUNNER_H_

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/task.h"
#include "core/conformance/results.h"
#include "core/conformance/subject.h"
#include "core/lifecycle/cancellation.h"
#include "core/registry/finding.h"
#include "core/registry/inspect.h"

namespace berth::conformance {

struct RunRequest {
  std::filesystem::path file;
  std::string config_json = "{}";     // fits the manifest's configSchema
  registry::Findings host_findings;   // what this host itself holds against the file: lock, quarantine
  std::filesystem::path program;      // serves a case when started with kChildArgument
  std::filesystem::path worker;
  Profile profile = Profile::kFull;
  std::vector<std::string> only;      // globs; empty: every case of the profile
  std::vector<std::string> skip;
  std::vector<std::string> allow;     // ids whose failure is a known deviation
  std::uint64_t seed = 0;
  unsigned at_once = 1;
  double time_scale = 1;
  std::filesystem::path scratch;      // empty: the system's temporary folder
  // After each case, in the order in which they end.
  std::function<void(const CaseResult&, std::size_t done, std::size_t all)> on_result = {};
};

// The cases of the request, in order. Empty: the filters match nothing.
std::vector<const Case*> chosen(const RunRequest& request);

// What the file itself and this host say against loading it, in sentences.
std::vector<std::string> refusals_of(const RunRequest& request, const registry::Inspection& inspection);

// What a child would be told for one case, with a folder of its own below `scratch`.
CaseRequest request_for(const RunRequest& request, const Case& one, const std::filesystem::path& scratch);

// An error only when nothing could be begun: everything else is in the report. A cancellation ends
// the children, cleans what they made, and is told in the report.
Task<Result<RunReport>> run_cases(boost::asio::any_io_executor executor, RunRequest request,
                                  Cancellation& cancellation);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_RUNNER_H_
