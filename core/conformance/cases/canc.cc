// CANC: cancellation and deadlines.
#include "core/conformance/lab.h"

namespace berth::conformance {

CaseList canc_cases() { return {}; }

}  // namespace berth::conformance
