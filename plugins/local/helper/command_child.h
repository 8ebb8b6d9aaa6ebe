// What a forked child of the init does: become a command, or move one file. Neither returns.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_COMMAND_CHILD_H_
#define BERTH_PLUGINS_LOCAL_HELPER_COMMAND_CHILD_H_

#include "wire.h"

namespace berth::local {

// How a child ends that never became a program, or that moved a file: written whole to a
// close-on-exec pipe the init reads once the child is gone.
struct ChildReport {
  Step step;
  std::int32_t error;
  std::uint32_t mode;
  std::uint32_t reserved;
  std::uint64_t size_bytes;
};

// `arguments` is a memfd: working folder, argv and environment as strings ended by NUL. The
// descriptors are the ones the provider attached, in its order.
[[noreturn]] void become_command(const Run& request, std::uint32_t skipped_layers, const int* fds,
                                 int report);

[[noreturn]] void receive_file(const PutRequest& request, int from, int report);
[[noreturn]] void send_file(const GetRequest& request, int to, int report);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_COMMAND_CHILD_H_
