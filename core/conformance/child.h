// The processes of one case. A keeper, started by the runner, starts the case's own process, reads
// what that prints, ends it when its time is over, and ends whatever it left running.
#ifndef BERTH_CORE_CONFORMANCE_CHILD_H_
#define BERTH_CORE_CONFORMANCE_CHILD_H_

#include <string>

namespace berth::conformance {

// The one argument that makes a program serve a case instead of what it is for.
inline constexpr char kChildArgument[] = "--conformance-case";
inline constexpr int kRequestFd = 3;
inline constexpr int kMessagesFd = 4;

// The keeper's main. Never returns before the case is over; the result is an exit code.
int serve_as_child();

// The case in this process, for a debugger: no time limit, nothing is caught. Messages go to
// `messages_fd`.
int run_case_here(const std::string& request_json, int messages_fd);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_CHILD_H_
