// The unit in which a provider's service counts lifetimes: "lifetimeStepSeconds" of a manifest.
#ifndef BERTH_CORE_REGISTRY_LIFETIME_STEP_H_
#define BERTH_CORE_REGISTRY_LIFETIME_STEP_H_

#include <chrono>

#include "core/registry/manifest.h"

namespace berth::registry {

inline constexpr std::chrono::seconds kLifetimeStepMax{86'400};

// Lifetimes are rounded up to a multiple of this; a second where the manifest says nothing.
inline std::chrono::seconds lifetime_step(const Manifest& manifest) {
  const auto* value = manifest.document.if_contains("lifetimeStepSeconds");
  return std::chrono::seconds(value != nullptr && value->is_int64() ? value->get_int64() : 1);
}

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_LIFETIME_STEP_H_
