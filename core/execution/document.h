// The result document as it is stored for replays.
#ifndef BERTH_CORE_EXECUTION_DOCUMENT_H_
#define BERTH_CORE_EXECUTION_DOCUMENT_H_

#include <cstddef>
#include <string>

#include "core/execution/execution.h"

namespace berth {

inline constexpr std::size_t kDocumentBytesMax = std::size_t{15} << 20;

// The document without receipt, at most kDocumentBytesMax bytes: where it would be larger, figures go
// first, the last one before the others, then the interactive chart, then the middle of the streams.
// `result` is changed accordingly, with a note for everything left out.
std::string bounded_document(ExecutionResult& result);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_DOCUMENT_H_
