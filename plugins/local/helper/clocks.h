// The clocks of a sandbox, which count from elsewhere than the host's.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_CLOCKS_H_
#define BERTH_PLUGINS_LOCAL_HELPER_CLOCKS_H_

#include "wire.h"

namespace berth::local {

// For what is forked from the caller: its clocks begin where the caller's stand now. What an interpreter
// has counted by must not run backwards.
ClockStarts clocks_from_now();

// The children of the caller get clocks that begin as `starts` says, by default shortly after zero as on a
// freshly started machine; the caller stays on those it has. 0, or an errno.
int enter_time_namespace(const ClockStarts& starts);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_CLOCKS_H_
