// How the processes that hold a provider end.
#ifndef BERTH_CORE_PLUGIN_PROCESS_END_H_
#define BERTH_CORE_PLUGIN_PROCESS_END_H_

#include <unistd.h>

#include <cstdio>

namespace berth::plugin {

inline constexpr int kExitOrderly = 0;
inline constexpr int kExitProtocol = 70;

// Ends at once: static destructors belong to a provider whose threads may still run.
[[noreturn]] inline void leave(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_PROCESS_END_H_
