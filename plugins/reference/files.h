// The files of all sandboxes, in memory. Bounded, so that no script and no caller can fill the
// machine. Any thread.
#ifndef BERTH_PLUGINS_REFERENCE_FILES_H_
#define BERTH_PLUGINS_REFERENCE_FILES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace berth::reference {

inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{64} << 20;

struct File {
  std::string bytes;
  std::uint32_t mode = 0644;
};

class Files {
 public:
  void put(const std::string& sandbox, const std::string& path, File file);

  // Throws berth::Failure (rejected): kNotFound when missing, kQuota when larger than `bytes_max`.
  File get(const std::string& sandbox, const std::string& path, std::uint64_t bytes_max);

  void drop(const std::string& sandbox);

 private:
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, File>> files_;
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_FILES_H_
