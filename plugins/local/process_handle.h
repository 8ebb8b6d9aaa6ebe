// A process that may be another's child, held by the kernel's own handle and not by a number that can
// change hands.
#ifndef BERTH_PLUGINS_LOCAL_PROCESS_HANDLE_H_
#define BERTH_PLUGINS_LOCAL_PROCESS_HANDLE_H_

#include <chrono>

#include "fd.h"
#include "state.h"

namespace berth::local {

// The process of a record; invalid when it is gone or its number belongs to another one now.
Fd open_process(const ProcessName& process);

// SIGKILL; to process 1 of a sandbox it is the end of everything in it. Returns at once.
void kill_process(const Fd& process);

// True once it has ended; false when it has not by then.
bool wait_ended(const Fd& process, std::chrono::steady_clock::time_point until);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_PROCESS_HANDLE_H_
