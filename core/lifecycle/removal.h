// What calls and reconciliation both ask of a provider: its scope, and a removal that is confirmed.
#ifndef BERTH_CORE_LIFECYCLE_REMOVAL_H_
#define BERTH_CORE_LIFECYCLE_REMOVAL_H_

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/with_sandbox.h"

namespace berth {

using StageListener = std::function<void(std::string_view)>;

// The scope in which the provider works; asked once for each InFlight. The reference stays valid as
// long as the services do.
Task<Result<const Scope*>> current_scope(LifecycleServices& services);

// Asks until the provider confirms that the sandbox is gone, with growing pauses, within the
// cleanup's budget. The last answer.
Task<Answer<Destroyed>> remove_sandbox(LifecycleServices& services, std::string name,
                                       std::string ref, StageListener on_stage);

// What differs between two scopes, for people: "account was 'a' and is now 'b'".
std::string scope_difference(const Scope& before, const Scope& now);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_REMOVAL_H_
