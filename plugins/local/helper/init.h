// Process 1 of a sandbox: reaps, runs one operation at a time on request, and is the lifetime of the
// sandbox: when its time is over, or its socket ends without the provider having taken its leave, it
// exits, and the kernel ends everything else in its process namespace with it.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_INIT_H_
#define BERTH_PLUGINS_LOCAL_HELPER_INIT_H_

#include <cstdint>

#include "wire.h"

namespace berth::local {

[[noreturn]] void run_init(const Create& request, int socket);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_INIT_H_
