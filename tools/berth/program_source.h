// Reading the program and its input files.
#ifndef BERTH_TOOLS_BERTH_PROGRAM_SOURCE_H_
#define BERTH_TOOLS_BERTH_PROGRAM_SOURCE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/execution/execution.h"
#include "tools/berth/options.h"

namespace berth::cli {

struct ProgramSource {
  std::string code;
  std::string file_name;  // empty when it came from standard input
  std::string title;
  Language language = Language::kPython;
};

// Reads options.file and decides language and title. Blocks while standard input is read.
Result<ProgramSource> read_program(const RunOptions& options);

// The bytes of a file, or of standard input for "-"; blocks while that is read.
Result<std::string> read_text_of(const std::string& file, std::size_t bytes_max);

Result<std::vector<RequestFile>> read_input_files(const std::vector<std::string>& paths);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_PROGRAM_SOURCE_H_
