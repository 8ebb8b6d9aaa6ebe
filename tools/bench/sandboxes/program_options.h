// The program that a measurement runs.
#ifndef BERTH_TOOLS_BENCH_SANDBOXES_PROGRAM_OPTIONS_H_
#define BERTH_TOOLS_BENCH_SANDBOXES_PROGRAM_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "core/base/result.h"
#include "core/execution/execution.h"

namespace berth::bench {

struct ProgramOptions {
  std::string language = "python";
  std::string code = "print(1)";

  void add_to(CLI::App& command) {
    command.add_option("--language", language, "python or javascript");
    command.add_option("--code", code, "the source of the program");
  }

  Result<ExecutionRequest> request() const {
    const auto known = language_from(language);
    if (!known) return fail(ErrorKind::kInvalidArgument, "no language is called " + language);
    ExecutionRequest made;
    made.language = *known;
    made.code = code + "\n";
    return made;
  }
};

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_SANDBOXES_PROGRAM_OPTIONS_H_
