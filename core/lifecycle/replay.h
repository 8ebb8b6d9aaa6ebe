// What a call is answered whose intent exists already.
#ifndef BERTH_CORE_LIFECYCLE_REPLAY_H_
#define BERTH_CORE_LIFECYCLE_REPLAY_H_

#include <optional>
#include <string>
#include <string_view>

#include "core/lifecycle/intent.h"
#include "core/lifecycle/with_sandbox.h"

namespace berth {

// The recorded answer, free of charge; a conflict when the request is another one; a refusal that
// says what is unresolved and what resolves it. `held_by` says who works on it now; empty: nobody
// who lives.
CallEnd answer_again(Intent earlier, std::optional<Receipt> receipt, std::string_view spec_digest,
                     WallTime now, std::string_view held_by);

// "create on provider 'local' at stage 'boot', UNCERTAIN for 3 min 2 s": who is blocked must know
// by what.
std::string describe_unresolved(const Intent& intent, WallTime now);

// The command that resolves an intent.
std::string resolve_command(const Intent& intent);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_REPLAY_H_
