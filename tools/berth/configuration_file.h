// Reading a file that decides what this program does.
#ifndef BERTH_TOOLS_BERTH_CONFIGURATION_FILE_H_
#define BERTH_TOOLS_BERTH_CONFIGURATION_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace berth::cli {

// Its text. Refused when it is no regular file, can be written by everyone, or has more than
// `bytes_max`; kNotFound when it is not there. `context` names it in errors.
Result<std::string> read_configuration_file(const std::filesystem::path& path,
                                            std::size_t bytes_max, const std::string& context);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CONFIGURATION_FILE_H_
