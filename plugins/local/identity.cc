#include "identity.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <filesystem>

namespace berth::local {

std::optional<Identity> take_identity(const std::string& folder, std::uint32_t base,
                                      std::uint32_t count) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return std::nullopt;
  // Starting anywhere keeps a number that was just given back from being the next one given out.
  std::uint32_t start = 0;
  if (getrandom(&start, sizeof(start), 0) != sizeof(start)) return std::nullopt;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t id = base + (start + i) % count;
    const std::string path = folder + "/" + std::to_string(id);
    Fd lock(open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid()) return std::nullopt;
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return Identity{id, std::move(lock)};
  }
  return std::nullopt;
}

}  // namespace berth::local
