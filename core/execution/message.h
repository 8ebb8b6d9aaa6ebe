// What a model reads about a run.
#ifndef BERTH_CORE_EXECUTION_MESSAGE_H_
#define BERTH_CORE_EXECUTION_MESSAGE_H_

#include <cstddef>
#include <string>

#include "core/execution/execution.h"

namespace berth {

inline constexpr std::size_t kMessageBytesMax = std::size_t{128} << 10;

// Standard output, then standard error, then "Error: Name: value" or the sentence about the end, then
// notes; each only when there is something to say. At most about kMessageBytesMax bytes.
std::string compose_message(const ExecutionResult& result, const ExecutionRequest& request);

// How the program ended, as a sentence; empty after an exit with 0.
std::string end_sentence(const ExecutionResult& result, const ExecutionRequest& request);

// A sentence about a missing base package, when that is what ended a Python program; else empty.
std::string missing_package_note(const ProgramError& error);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_MESSAGE_H_
