// FAULT: what exists after workers died and answers were lost.
#include "core/conformance/lab.h"

namespace berth::conformance {

CaseList fault_cases() { return {}; }

}  // namespace berth::conformance
