// The native half of a template that every kind of interpreter shares; see fork.cc. One thread, the
// interpreter's own; nothing here allocates but what the C library's fork does.
#ifndef BERTH_PLUGINS_LOCAL_TEMPLATE_FORK_H_
#define BERTH_PLUGINS_LOCAL_TEMPLATE_FORK_H_

#include <cstddef>

#include "helper/command_child.h"

namespace berth::local {

// Where a forked interpreter has the socket to its init until it becomes the program.
inline constexpr int kInterpreterSocket = 3;

// Which descriptors of the template its forks keep. `kStreams`: none but the three. `kOwn`: those an
// interpreter cannot do without, which it replaces itself; only what the protocol brought is closed.
enum class Keeps { kStreams, kOwn };

// Serves until the control socket ends, which ends the process. Returns in every interpreter that is
// forked.
void serve_forks(int control, Keeps keeps);

// Whether this interpreter has time before its command comes: its sandbox was made ahead, and the command
// is not there already.
bool has_time();

// Waits for the command and takes on all of it but the program. Returns the number of its arguments.
int await_command();

// The command that was taken, its strings as they came.
const PreparedCommand& taken_command();

// Runs the program in the ordinary way instead.
[[noreturn]] void execute_taken_command();

// From here on this interpreter is the program: what is left of the protocol is closed. The program is
// shown by its own arguments where there is room for them, in `area`, which is where the kernel reads them.
void become_program(char* area, std::size_t room);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_TEMPLATE_FORK_H_
