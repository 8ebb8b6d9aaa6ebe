// The namespaces a sandbox is born into.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_NAMESPACES_H_
#define BERTH_PLUGINS_LOCAL_HELPER_NAMESPACES_H_

#include <sched.h>

#include <cstdint>

#include "helper/layers.h"
#include "wire.h"

namespace berth::local {

struct NamespaceFlag {
  Layer layer;
  std::uint64_t flag;
};

// What it is cloned with. The two that the init enters by itself later, with the right root and offsets,
// are not among them.
inline constexpr NamespaceFlag kClonedNamespaces[] = {
    {Layer::kPid, CLONE_NEWPID}, {Layer::kMount, CLONE_NEWNS}, {Layer::kNet, CLONE_NEWNET},
    {Layer::kIpc, CLONE_NEWIPC}, {Layer::kUts, CLONE_NEWUTS}};

constexpr std::uint64_t namespaces_of(std::uint32_t skipped_layers) {
  std::uint64_t flags = wanted(skipped_layers, Layer::kUser) ? CLONE_NEWUSER : 0;
  for (const NamespaceFlag& item : kClonedNamespaces) {
    if (wanted(skipped_layers, item.layer)) flags |= item.flag;
  }
  return flags;
}

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_NAMESPACES_H_
