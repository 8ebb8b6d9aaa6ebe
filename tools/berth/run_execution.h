// What every way to run a program has in common: limits from the command line and the
// configuration, and everything between the open host and the result.
#ifndef BERTH_TOOLS_BERTH_RUN_EXECUTION_H_
#define BERTH_TOOLS_BERTH_RUN_EXECUTION_H_

#include <optional>
#include <string>

#include "core/execution/execution.h"
#include "tools/berth/context.h"
#include "tools/berth/failure.h"
#include "tools/berth/host.h"
#include "tools/berth/run_observer.h"

namespace berth::cli {

std::string chosen_owner(const std::string& given);    // else the user's name
std::string chosen_session(const std::string& given);  // else "cli"

// A request without a program: network, limits, timeout, owner, session, call and turn.
ExecutionRequest request_settings(const RunOptions& options, const Settings& settings);

// How a run shares a keeper: nothing where the command line or the configuration says not to, or where
// there is no folder to find one in.
std::optional<plugin::Keeping> keeping_of(const RunOptions& options, const Settings& settings,
                                          const Context& context);

// Loads the provider, runs the request with it, and cleans up after dead hosts meanwhile. A
// provider that says itself that it does not work here is refused before anything is recorded.
Task<Tried<ExecutionResult>> execute_on(Host& host, Context& context, const std::string& provider,
                                        ExecutionRequest request, RunObserver& observer);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RUN_EXECUTION_H_
