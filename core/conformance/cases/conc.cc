// CONC: several operations at once.
#include "core/conformance/lab.h"

namespace berth::conformance {

CaseList conc_cases() { return {}; }

}  // namespace berth::conformance
