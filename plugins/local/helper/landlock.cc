#include "helper/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace berth::local {
namespace {

// The kernel's numbers, spelled out because the headers of a build may be older than the kernel.
constexpr std::uint64_t kExecute = 1u << 0;
constexpr std::uint64_t kWriteFile = 1u << 1;
constexpr std::uint64_t kReadFile = 1u << 2;
constexpr std::uint64_t kReadFolder = 1u << 3;
constexpr std::uint64_t kMakeCharDevice = 1u << 6;
constexpr std::uint64_t kMakeBlockDevice = 1u << 11;
constexpr std::uint64_t kRightsOfLevel1 = (1u << 13) - 1;
constexpr std::uint64_t kRefer = 1u << 13;      // level 2
constexpr std::uint64_t kTruncate = 1u << 14;   // level 3
constexpr std::uint64_t kDeviceIoctl = 1u << 15;  // level 5
constexpr std::uint64_t kScopeAbstractSockets = 1u << 0;  // level 6
constexpr std::uint64_t kScopeSignals = 1u << 1;

struct Ruleset {
  std::uint64_t files;
  std::uint64_t net;
  std::uint64_t scoped;
};

std::uint64_t rights_of(int level) {
  std::uint64_t rights = kRightsOfLevel1;
  if (level >= 2) rights |= kRefer;
  if (level >= 3) rights |= kTruncate;
  if (level >= 5) rights |= kDeviceIoctl;
  return rights;
}

bool allow(int ruleset, const char* path, std::uint64_t rights) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return false;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = fd;
  const bool good =
      syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  return good;
}

}  // namespace

int landlock_level() {
  const long level =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return level < 0 ? -errno : static_cast<int>(level);
}

int confine_with_landlock(int level) {
  const std::uint64_t rights = rights_of(level);
  Ruleset wanted{rights, 0, 0};
  std::size_t size = sizeof(wanted.files);
  if (level >= 6) {
    wanted.scoped = kScopeAbstractSockets | kScopeSignals;
    size = sizeof(wanted);
  }
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &wanted, size, 0));
  if (ruleset < 0) return errno;
  const std::uint64_t reading = kReadFile | kReadFolder | kExecute;
  const std::uint64_t writing = rights & ~(kMakeCharDevice | kMakeBlockDevice | kDeviceIoctl);
  const std::uint64_t into_file = kReadFile | kWriteFile | (level >= 3 ? kTruncate : 0);
  const bool good = allow(ruleset, "/", reading) && allow(ruleset, "/workspace", writing) &&
                    allow(ruleset, "/tmp", writing) &&
                    allow(ruleset, "/dev/shm", writing & ~kExecute) &&
                    allow(ruleset, "/proc", kReadFile | kReadFolder | kWriteFile) &&
                    allow(ruleset, "/dev/null", into_file) &&
                    allow(ruleset, "/dev/zero", into_file) &&
                    allow(ruleset, "/dev/full", into_file) &&
                    syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  const int error = good ? 0 : errno;
  close(ruleset);
  return error;
}

}  // namespace berth::local
