// Whose sandboxes they are: the team and the project, and the token that speaks for them.
//
// Values; any thread. No sentence made here repeats a token or a part of one.
#ifndef BERTH_PLUGINS_VERCEL_IDENTITY_H_
#define BERTH_PLUGINS_VERCEL_IDENTITY_H_

#include <cstdint>
#include <string>

#include "berth/host.hpp"
#include "plugins/http/secret.h"

namespace berth::vercel {

struct Identity {
  http::Secret token;
  std::string team;
  std::string project;  // its id or its name
  // What may be shown of the credential. An OIDC token lives for hours and is followed by others
  // for the same team and project, so of one it is the digest of whom it speaks for.
  std::string fingerprint;
  std::uint64_t expires_unix_s = 0;  // 0: it does not say

  // Another token of the same credential.
  bool same_scope(const Identity& other) const {
    return team == other.team && project == other.project && fingerprint == other.fingerprint;
  }
};

// VERCEL_TEAM_ID, VERCEL_PROJECT_ID and VERCEL_TOKEN where all three are set, else
// VERCEL_OIDC_TOKEN, as they are now. Throws Failure::rejected.
Identity read_identity(const Host& host);

// A variable without the blanks around it; empty when there is none.
std::string variable(const Host& host, std::string_view name);

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_IDENTITY_H_
