// Which layers a description asks for.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_LAYERS_H_
#define BERTH_PLUGINS_LOCAL_HELPER_LAYERS_H_

#include <cstdint>

#include "wire.h"

namespace berth::local {

#ifdef BERTH_LOCAL_EVERY_LAYER_MAY_BE_OFF
// Only the helper of the attack tests is built so: each probe runs a second time without what stops it.
inline constexpr std::uint32_t kMayBeOff = (1u << kLayerCount) - 1;
#else
inline constexpr std::uint32_t kMayBeOff = kAcceptableLayers;
#endif

constexpr bool wanted(std::uint32_t skipped, Layer layer) {
  return (skipped & kMayBeOff & bit(layer)) == 0;
}

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_LAYERS_H_
