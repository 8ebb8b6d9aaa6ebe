// Showing a file with whatever program the desktop has for it.
#ifndef BERTH_TOOLS_BERTH_DESKTOP_H_
#define BERTH_TOOLS_BERTH_DESKTOP_H_

#include <filesystem>

#include "core/base/result.h"
#include "tools/berth/paths.h"

namespace berth::cli {

// Starts it and leaves it running. kUnavailable, with a sentence that names the file, where there is no
// desktop or nothing that opens files.
Status show_on_desktop(const std::filesystem::path& file, const EnvironmentLookup& environment);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_DESKTOP_H_
