// What is said, saved and returned once a run has ended.
#ifndef BERTH_TOOLS_BERTH_RUN_REPORT_H_
#define BERTH_TOOLS_BERTH_RUN_REPORT_H_

#include <boost/json/object.hpp>
#include <string>

#include "core/execution/execution.h"
#include "tools/berth/context.h"
#include "tools/berth/options.h"

namespace berth::cli {

// The code that the result alone leads to: the program's own, 128+n, or one of the band.
int exit_code_of(const ExecutionResult& result, int interrupted_by);

// The code of a failed write to standard output, by its errno.
int exit_of_output_failure(int failure);

// Whether charts can be saved where --output says: asked before anything runs.
Status check_output(const RunOptions& options);

// Saves charts, shows one of them when asked, prints the document or the closing lines, and returns the code to end with.
// `output_failure` is the errno of a failed write to standard output, or 0. The members of `more` are
// added to the document.
int report_run(const Context& context, const RunOptions& options, const std::string& title,
               const ExecutionResult& result, int output_failure,
               const boost::json::object& more = {});

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RUN_REPORT_H_
