// What a forked child of the init does: become a command.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_COMMAND_CHILD_H_
#define BERTH_PLUGINS_LOCAL_HELPER_COMMAND_CHILD_H_

#include "wire.h"

namespace berth::local {

// How a child ends that never became a program, written whole to a close-on-exec pipe the init reads once
// the child is gone; or how a file was moved.
struct ChildReport {
  Step step;
  std::int32_t error;
  std::uint32_t mode;
  std::uint32_t reserved;
  std::uint64_t size_bytes;
};

// A command whose arguments are taken apart.
struct PreparedCommand {
  char* folder;
  char** argv;
  char** environment;
};

// Makes the caller what the command's program is to be, up to the program itself: streams, folder,
// limits, session. `fds[0]` is a memfd: working folder, argv and environment as strings ended by NUL;
// the other three are the streams. Everything above them goes at an exec. Ends the caller with a report
// when something fails.
PreparedCommand prepare_command(const Run& request, std::uint32_t skipped_layers, const int* fds,
                                int report);

// Runs the program in place of the caller.
[[noreturn]] void execute_command(const PreparedCommand& command, int report);

// Ends the caller, which never became a program.
[[noreturn]] void give_up(int report, Step step, int error);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_COMMAND_CHILD_H_
