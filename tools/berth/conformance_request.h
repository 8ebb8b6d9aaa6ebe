// What the commands of `berth conformance` that run a provider have in common.
#ifndef BERTH_TOOLS_BERTH_CONFORMANCE_REQUEST_H_
#define BERTH_TOOLS_BERTH_CONFORMANCE_REQUEST_H_

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/conformance/runner.h"
#include "tools/berth/context.h"
#include "tools/berth/options.h"

namespace berth::cli {

// Where reports are kept as evidence: `<state>/conformance/<digest>.json`.
Result<std::filesystem::path> evidence_folder(const Context& context);

// A seed as reports print them, whole: one that is mistyped must not repeat something else. `option`
// is named in the error.
Result<std::uint64_t> parse_seed(std::string_view option, std::string_view text);

// Everything a run needs, from the options and this host's configuration, lock file and quarantine. Whatever the
// error, these commands end with kConformanceUsage.
Result<conformance::RunRequest> conformance_request(const Context& context,
                                                    const ConformanceRunOptions& options);

// Cleans up after runs of the kit that were killed, and says so.
Task<void> sweep(Context& context, const conformance::RunRequest& request);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CONFORMANCE_REQUEST_H_
