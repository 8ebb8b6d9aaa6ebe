// The source of a program before it is sent: lines that ask for packages become commands.
#ifndef BERTH_CORE_EXECUTION_SOURCE_H_
#define BERTH_CORE_EXECUTION_SOURCE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The arguments of one `pip install`, split as a shell would, with no expansion of any kind.
struct InstallCommand {
  std::vector<std::string> arguments;
  std::size_t line = 0;  // of the source, from 1
};

struct PreparedSource {
  std::string code;
  std::vector<InstallCommand> installs;
};

// Finds `!pip install ...` and its kin (`%pip`, `!pip3`, `!python -m pip`) where they stand as
// statements of their own, and puts `pass` with the same indentation in their place, so that every
// other line keeps its number and its block. A line inside a string, a bracket or a continued
// statement is left alone. Source without such a line comes back byte for byte.
PreparedSource prepare_python(std::string_view code);

// The words of one command line: quotes and backslashes as in a POSIX shell, a comment ends it.
std::vector<std::string> split_words(std::string_view text);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_SOURCE_H_
