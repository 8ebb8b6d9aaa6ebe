// One pass of reconciliation with one provider, whether it can be loaded or not.
#ifndef BERTH_TOOLS_BERTH_RECONCILE_AT_H_
#define BERTH_TOOLS_BERTH_RECONCILE_AT_H_

#include <set>
#include <string>

#include "core/lifecycle/reconcile.h"
#include "tools/berth/host.h"

namespace berth::cli {

// Whose the intents are that `filter` lets through.
Task<Tried<std::set<std::string>>> providers_of(Host& host, IntentFilter filter);

// A provider that cannot be loaded is a problem in the report, unless an operator has established that
// nothing is there.
Task<Tried<ReconcileReport>> reconcile_at(Host& host, const std::string& id,
                                          berth::ReconcileOptions wanted);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RECONCILE_AT_H_
