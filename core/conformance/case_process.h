// CaseProcess: one child as its parent sees it, from its start to everything it had to say.
#ifndef BERTH_CORE_CONFORMANCE_CASE_PROCESS_H_
#define BERTH_CORE_CONFORMANCE_CASE_PROCESS_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/task.h"
#include "core/conformance/results.h"
#include "core/conformance/subject.h"
#include "core/lifecycle/cancellation.h"

namespace berth::conformance {

// What a child said, and how it ended.
struct Told {
  std::string result;  // "ok", the kind of its error, or empty: it never said
  std::string text;
  std::vector<std::string> left;  // names whose sandbox may be alive
  std::string operation;
  std::string stage;
  bool over = false;  // the case's own part came to its end
  std::vector<std::string> notes;
  std::vector<plugin::Violation> violations;
  std::string ended;  // "exit", "signal", "timeout", or empty: the keeper never said
  int number = 0;     // exit code or signal
  std::vector<std::string> stragglers;
  std::string printed;
};

// Starts `program` for the request and reads until it is over. Bounded by the request's budget and
// some seconds; a cancellation ends it.
Task<Result<Told>> run_process(boost::asio::any_io_executor executor,
                               std::filesystem::path program, CaseRequest request,
                               Cancellation& cancellation);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_CASE_PROCESS_H_
