// The exit codes of the berth command. Stable: scripts depend on them, so a number is never reused.
//
// `berth conformance` has five of its own, as tools that test have them: see the end of this file.
// `berth run` ends with the program's own exit code, or 128+n when signal n ended it. Everything
// that goes wrong outside the program ends with a code from 200 on, a band that shells, timeout(1)
// and signals leave alone. A program may still exit with such a number itself; then standard error
// has no line that begins with "berth:", and the JSON document says "exited".
#ifndef BERTH_TOOLS_BERTH_EXIT_CODES_H_
#define BERTH_TOOLS_BERTH_EXIT_CODES_H_

#include <array>
#include <string_view>

namespace berth::cli {

enum class Exit : int {
  kSuccess = 0,
  kFinding = 1,           // every command but run: it worked, and what it found is not good
  kHangup = 129,          // 128+SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM: cancelled and cleaned up
  kInterrupted = 130,
  kQuit = 131,
  kReaderGone = 141,
  kTerminated = 143,
  kUsage = 200,
  kInput = 201,
  kConfiguration = 202,
  kState = 203,
  kProvider = 204,
  kRefused = 205,
  kInfrastructure = 206,
  kDeadline = 207,
  kUncertain = 208,
  kOutput = 209,
  kInternal = 210,
};

constexpr int to_int(Exit exit) { return static_cast<int>(exit); }

// 128+n, what a shell reports of a program that signal n ended.
constexpr int exit_of_signal(int signal) { return 128 + signal; }

struct ExitText {
  Exit exit;
  std::string_view meaning;
};

// What help and the manual page say, in their order.
inline constexpr std::array kExitTexts = {
    ExitText{Exit::kSuccess, "success; for run: the program exited with 0"},
    ExitText{Exit::kFinding, "not run: it worked, but something is unresolved, missing or refused"},
    ExitText{Exit::kHangup, "cancelled by SIGHUP; cleaned up"},
    ExitText{Exit::kInterrupted, "cancelled by SIGINT (Ctrl-C); cleaned up"},
    ExitText{Exit::kQuit, "cancelled by SIGQUIT (Ctrl-\\); cleaned up"},
    ExitText{Exit::kReaderGone, "cancelled because whoever read the output went away; cleaned up"},
    ExitText{Exit::kTerminated, "cancelled by SIGTERM; cleaned up"},
    ExitText{Exit::kUsage, "the command line is wrong (conformance: 2)"},
    ExitText{Exit::kInput, "the program, document or input file is missing or cannot be used"},
    ExitText{Exit::kConfiguration, "the configuration cannot be read, is wrong, or has no billing"},
    ExitText{Exit::kState, "the state folder or its store cannot be used"},
    ExitText{Exit::kProvider, "no such provider, or it was refused or does not work here"},
    ExitText{Exit::kRefused,
             "the call was refused: conflict, unresolved, retired session, billing"},
    ExitText{Exit::kInfrastructure, "the sandbox could not be made, used or cleaned; no charge"},
    ExitText{Exit::kDeadline, "the deadline over everything passed; cleaned up, no charge"},
    ExitText{Exit::kUncertain, "a sandbox may still exist: run berth reconcile"},
    ExitText{Exit::kOutput, "the output or a chart could not be written"},
    ExitText{Exit::kInternal, "a fault of berth itself"},
};

// How every command of `berth conformance` ends, unless a signal or the reader of its output ends it.
inline constexpr int kConformanceGood = 0;
inline constexpr int kConformanceBad = 1;
inline constexpr int kConformanceUsage = 2;
inline constexpr int kConformanceRefused = 3;
inline constexpr int kConformanceHarness = 4;

struct ConformanceExitText {
  int exit;
  std::string_view meaning;
};
inline constexpr std::array kConformanceExitTexts = {
    ConformanceExitText{kConformanceGood, "all good, and there was something to say it of"},
    ConformanceExitText{kConformanceBad, "a case is bad, or worse; a sequence contradicts the model"},
    ConformanceExitText{kConformanceUsage, "command line, configuration or input wrong, or nothing ran"},
    ConformanceExitText{kConformanceRefused, "the loader refuses the file"},
    ConformanceExitText{kConformanceHarness, "the kit itself failed"},
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_EXIT_CODES_H_
