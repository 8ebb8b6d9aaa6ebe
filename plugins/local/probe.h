// What works on this machine, shown by doing it: a trial sandbox is made, asked and ended.
#ifndef BERTH_PLUGINS_LOCAL_PROBE_H_
#define BERTH_PLUGINS_LOCAL_PROBE_H_

#include "allocations.h"
#include "berth/values.hpp"

namespace berth::local {

ProbeReport probe_machine(Allocations& allocations);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_PROBE_H_
