// Whether each layer works on this machine, found out by doing in a child what it takes.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_PROBES_H_
#define BERTH_PLUGINS_LOCAL_HELPER_PROBES_H_

#include <sys/types.h>

#include <cstdint>

#include "wire.h"

namespace berth::local {

// A child in namespaces of its own as `flags` say, in a control group when a descriptor of its version 2
// folder is given. As clone3 answers.
pid_t clone_process(std::uint64_t flags, int unified_folder, int* pidfd);

// 0, or the errno of making this namespace.
int try_namespace(std::uint64_t flag);

void probe_layers(Probed* answer);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_PROBES_H_
