// Builds the walls around the calling process, which is process 1 of its namespaces and becomes the
// init of the sandbox. Single-threaded, no allocation, every step names its layer.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_SANDBOX_SETUP_H_
#define BERTH_PLUGINS_LOCAL_HELPER_SANDBOX_SETUP_H_

#include <cstddef>
#include <cstdint>

#include "wire.h"

namespace berth::local {

struct SetupResult {
  std::uint32_t layers = 0;  // in force
  std::uint32_t landlock_abi = 0;
  LayerFailure failure{};         // error 0: all that was asked for is in force
};

// `request` is the description; the namespaces exist and the identity maps are written.
SetupResult set_up_sandbox(const Create& request);

// Every capability of the caller but these, now and for ever. 0, or an errno.
int drop_capabilities(std::uint64_t kept);

// The caller joins the groups whose `tasks`, or `cgroup.procs` in version 2, these are. A process that
// joins a group of version 1 by itself, as a single thread, does not wait for everything else that starts
// and ends on this machine, which takes longer than all the rest. 0, or an errno.
int join_groups(const int* groups, std::size_t count);

// Records a failure of a layer, with the errno of the call that failed.
LayerFailure make_failure(Layer layer, int error, const char* doing);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_SANDBOX_SETUP_H_
