// The one place that knows the command line's shape: names, help, examples and checks of values.
#ifndef BERTH_TOOLS_BERTH_COMMAND_LINE_H_
#define BERTH_TOOLS_BERTH_COMMAND_LINE_H_

#include <optional>
#include <string>

#include "core/base/time.h"
#include "tools/berth/exit_codes.h"
#include "tools/berth/options.h"

namespace berth::cli {

struct Invocation {
  CommonOptions common;
  CommandOptions command;
};

// Either an invocation, or what to print and how to end.
struct ParsedLine {
  std::optional<Invocation> invocation;
  int exit = 0;
  std::string out;
  std::string err;
};

// Whether the line asks for a document, however wrong the rest of it is.
bool wants_json(int argc, const char* const* argv);

// Reads no file and no environment. `now` is what ages such as "24h" count back from.
ParsedLine parse_command_line(int argc, const char* const* argv, WallTime now);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_COMMAND_LINE_H_
