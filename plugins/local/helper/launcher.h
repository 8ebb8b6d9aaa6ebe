// The launcher: makes sandboxes from prepared descriptions, one at a time, and reaps their inits. It
// has no thread, no configuration and no environment, and ends with its socket.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_LAUNCHER_H_
#define BERTH_PLUGINS_LOCAL_HELPER_LAUNCHER_H_

namespace berth::local {

[[noreturn]] void run_launcher(int socket);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_LAUNCHER_H_
