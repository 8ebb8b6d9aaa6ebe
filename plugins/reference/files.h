// The files of all sandboxes: in memory, or on disk where programs really run. Bounded, so that no script
// and no caller can fill the machine. Any thread.
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
  virtual ~Files() = default;

  // Throws berth::Failure when it cannot be put; then nothing of it is there.
  virtual void put(const std::string& sandbox, const std::string& path, File file) = 0;

  // Throws berth::Failure (rejected): kNotFound when missing, kQuota when larger than `bytes_max`.
  virtual File get(const std::string& sandbox, const std::string& path,
                   std::uint64_t bytes_max) = 0;

  virtual void drop(const std::string& sandbox) = 0;
};

class FilesInMemory final : public Files {
 public:
  void put(const std::string& sandbox, const std::string& path, File file) override;
  File get(const std::string& sandbox, const std::string& path, std::uint64_t bytes_max) override;
  void drop(const std::string& sandbox) override;

 private:
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, File>> files_;
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_FILES_H_
