// The sweep of a reconciliation: what the provider lists as this host's is compared with the store.
#ifndef BERTH_CORE_LIFECYCLE_SWEEP_H_
#define BERTH_CORE_LIFECYCLE_SWEEP_H_

#include "core/base/task.h"
#include "core/lifecycle/reconcile.h"

namespace berth {

// Fills in strays, made_ahead or sweep_error. Deletes nothing.
Task<void> sweep(LifecycleServices& services, ReconcileReport& report);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_SWEEP_H_
