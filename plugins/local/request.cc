#include "request.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "berth/outcome.hpp"

namespace berth::local {
namespace {

constexpr std::chrono::nanoseconds kLongestLifetime = std::chrono::hours(24);
constexpr std::uint64_t kLeastMemoryBytes = 16u << 20;
constexpr std::uint64_t kLeastDiskBytes = 1u << 20;

}  // namespace

Failure invalid(std::string message) {
  return Failure::rejected(Code::kInvalidArgument, std::move(message));
}

void check_request(const CreateSpec& spec, const EffectiveLimits& limits) {
  if (spec.network != Network::kNone) {
    throw Failure::rejected(Code::kUnsupported,
                            "the local provider has no network policy; ask for network none");
  }
  if (!spec.image.empty()) {
    throw Failure::rejected(Code::kUnsupported,
                            "the local provider has no images; its system is the host's /usr");
  }
  for (const std::string_view language : spec.languages) {
    if (language != "python" && language != "javascript") {
      throw Failure::rejected(Code::kUnsupported, "the local provider runs python and javascript, not '" +
                                                      std::string(language.substr(0, 64)) + "'");
    }
  }
  if (spec.lifetime.count() < 0 || spec.lifetime > kLongestLifetime) {
    throw invalid("the lifetime of a sandbox is at most 24 hours");
  }
  if (limits.memory_bytes < kLeastMemoryBytes) throw invalid("a sandbox needs at least 16 MiB of memory");
  if (limits.disk_bytes < kLeastDiskBytes) throw invalid("a sandbox needs at least 1 MiB of disk");
  for (const PairView& pair : spec.env) {
    if (pair.key.empty() || pair.key.find('=') != std::string_view::npos ||
        pair.key.find('\0') != std::string_view::npos ||
        pair.value.find('\0') != std::string_view::npos) {
      throw invalid("a variable of the sandbox's environment is empty, or holds '=' or NUL");
    }
  }
}

std::uint64_t disk_within_memory(const EffectiveLimits& limits) {
  return std::min(limits.disk_bytes, limits.memory_bytes / 4 * 3);
}

std::uint64_t inodes_for(std::uint64_t disk_bytes) {
  constexpr std::uint64_t kBytesPerInode = 8192;
  return std::clamp<std::uint64_t>(disk_bytes / kBytesPerInode, 4096, 262'144);
}

}  // namespace berth::local
