// Identities: one number per sandbox, never shared between two that live.
#ifndef BERTH_PLUGINS_LOCAL_IDENTITY_H_
#define BERTH_PLUGINS_LOCAL_IDENTITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "fd.h"

namespace berth::local {

// What programs see of their own identity.
inline constexpr std::uint32_t kInnerId = 1000;

struct Identity {
  std::uint32_t id = 0;
  Fd lock;  // the number is taken as long as any copy of this is open
};

// A free number of the range. The locks lie in one folder of the machine, so that providers with
// different state folders do not give out one number twice; a lock dies with its last holder, so
// nothing has to be cleaned. Nothing when every number is taken or the folder cannot be used.
std::optional<Identity> take_identity(const std::string& folder, std::uint32_t base,
                                      std::uint32_t count);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_IDENTITY_H_
