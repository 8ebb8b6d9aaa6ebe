// What may be asked of a create, and what follows from it.
#ifndef BERTH_PLUGINS_LOCAL_REQUEST_H_
#define BERTH_PLUGINS_LOCAL_REQUEST_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "berth/outcome.hpp"
#include "berth/values.hpp"
#include "sandbox.h"

namespace berth::local {

// Of a sandbox whose create names none.
inline constexpr std::chrono::nanoseconds kDefaultLifetime = std::chrono::minutes(10);

// The request itself is wrong; the message says what of it.
Failure invalid(std::string message);

// Throws Failure (rejected) saying what of the request this provider does not do. `limits` are those of
// the request over the defaults.
void check_request(const CreateSpec& spec, const EffectiveLimits& limits);

// Files of a sandbox lie in its memory. A disk that could fill the memory would end with a kill of
// everything, the init included, where a program expects "no space left", so a quarter stays free.
std::uint64_t disk_within_memory(const EffectiveLimits& limits);

std::uint64_t inodes_for(std::uint64_t disk_bytes);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_REQUEST_H_
