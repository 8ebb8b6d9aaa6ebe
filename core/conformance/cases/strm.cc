// STRM: bytes in order, at the pace of who reads them.
#include "core/conformance/lab.h"

namespace berth::conformance {

CaseList strm_cases() { return {}; }

}  // namespace berth::conformance
