// The harnesses: small programs that ride along with the user's own inside a sandbox. Carried by the
// library as bytes; nothing is read from disk at run time.
#ifndef BERTH_CORE_EXECUTION_HARNESS_H_
#define BERTH_CORE_EXECUTION_HARNESS_H_

#include <string>
#include <string_view>

namespace berth::harness {

// The files of core/execution/harness as they are.
std::string_view berth_run_py();
std::string_view berth_report_py();
std::string_view berth_figures_py();
std::string_view berth_install_py();
std::string_view berth_run_cjs();

// berth_run.py with its two later parts inside as text, compiled in the sandbox only when needed.
std::string python_harness();

}  // namespace berth::harness

#endif  // BERTH_CORE_EXECUTION_HARNESS_H_
