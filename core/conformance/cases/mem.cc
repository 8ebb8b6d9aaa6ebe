// MEM and ERR: memory, bounds, and errors.
#include "core/conformance/lab.h"

namespace berth::conformance {

CaseList mem_cases() { return {}; }

}  // namespace berth::conformance
