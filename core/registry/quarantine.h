// Quarantine: files that crashed too often while they were loaded, by digest.
//
// Kept in a small JSON file that any process of this user may update; the last writer wins, which
// can lose a count but never invent one. One thread at a time.
#ifndef BERTH_CORE_REGISTRY_QUARANTINE_H_
#define BERTH_CORE_REGISTRY_QUARANTINE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"

namespace berth::registry {

struct QuarantineEntry {
  std::string digest;
  std::string provider_id;
  std::string reason;  // how it crashed last
  std::uint32_t crashes = 0;
  WallTime last_at;
  bool quarantined = false;
};

class Quarantine {
 public:
  static constexpr std::uint32_t kCrashesMax = 3;
  static constexpr std::size_t kEntriesMax = 256;  // the oldest go first

  // `file` need not exist yet. An empty path keeps everything in memory.
  explicit Quarantine(std::filesystem::path file) : file_(std::move(file)) {}

  // What is known of this digest. A file that cannot be read says nothing.
  std::optional<QuarantineEntry> find(std::string_view digest);
  std::vector<QuarantineEntry> list();

  // Counts a crash at load; at kCrashesMax the digest is quarantined.
  Result<QuarantineEntry> record_crash(std::string_view digest, std::string_view provider_id,
                                       std::string_view reason, WallTime now);
  // It loaded: the count starts again. Does not lift a quarantine.
  Status record_success(std::string_view digest);
  // An operator's decision.
  Status lift(std::string_view digest);

 private:
  void read();
  Status write();

  std::filesystem::path file_;
  std::vector<QuarantineEntry> entries_;
};

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_QUARANTINE_H_
