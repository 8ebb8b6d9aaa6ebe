// Process 1 of a sandbox: reaps, runs one operation at a time on request, and is the lifetime of the
// sandbox: when its time is over, or its socket ends without the provider having taken its leave, it
// exits, and the kernel ends everything else in its process namespace with it.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_INIT_H_
#define BERTH_PLUGINS_LOCAL_HELPER_INIT_H_

#include <sys/types.h>

#include <cstdint>

#include "helper/sandbox_setup.h"
#include "wire.h"

namespace berth::local {

// Where an init has what it keeps for life.
inline constexpr int kInitSocket = 3;
inline constexpr int kInitLiveness = 4;
inline constexpr int kInitIdentity = 5;
inline constexpr int kInitTimer = 6;
inline constexpr int kInitInterpreter = 7;

// Descriptors on their way to these places are put above this first, so that none is overwritten.
inline constexpr int kAboveKept = 64;

// The name an init is executed by: "berth-init", then the interpreter's process number, 0 for none, and
// the skipped layers, both in decimal.
inline constexpr char kInitName[] = "berth-init";

// Builds the walls around the caller, which is process 1 of its namespaces, and makes its timer. The
// failure is named where there is one.
SetupResult prepare_init(const Create& request);

// Tells the provider how it went.
bool send_ready(const Create& request, const SetupResult& result);

// The cold way: the walls are built, then the caller serves.
[[noreturn]] void run_init(const Create& request);

// The way of a template: the walls stand, the caller was executed to serve, and an interpreter waits.
[[noreturn]] void resume_init(pid_t interpreter, std::uint32_t skipped_layers);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_INIT_H_
