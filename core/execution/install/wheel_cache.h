// Package files this host has fetched, by SHA-256: kept on disk for every later install, whichever
// process asks.
//
// The folder belongs to the host alone; sandboxes get bytes, never the folder. Any number of
// processes may use it at once: a file appears whole, by rename, and a reader keeps what it opened.
#ifndef BERTH_CORE_EXECUTION_INSTALL_WHEEL_CACHE_H_
#define BERTH_CORE_EXECUTION_INSTALL_WHEEL_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/sha256.h"
#include "core/os/fd.h"

namespace berth::install {

class WheelCache {
 public:
  // A file on its way in. Destroyed without commit, it leaves nothing.
  class Entry {
   public:
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    // What cannot be written is dropped: the install goes on without the cache.
    void append(std::string_view bytes);

   private:
    friend class WheelCache;
    Entry() = default;
    os::Fd file_;
    std::filesystem::path path_;
    Sha256 digest_;
    std::uint64_t bytes_ = 0;
    std::uint64_t bytes_max_ = 0;
  };

  // An empty `folder`: keeps nothing.
  WheelCache(std::filesystem::path folder, std::uint64_t bytes_max);

  // The file whose content has this digest, marked as just used; an invalid Fd when it is not there.
  // Its content is still to be verified by whoever reads it.
  os::Fd open(const std::string& sha256) const;
  // Null when nothing can be kept.
  std::unique_ptr<Entry> begin() const;
  // Keeps what was written when it has this digest, and makes room: least recently used goes first.
  void commit(std::unique_ptr<Entry> entry, const std::string& sha256) const;
  void remove(const std::string& sha256) const;

 private:
  void make_room() const;

  std::filesystem::path folder_;
  std::uint64_t bytes_max_;
};

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_WHEEL_CACHE_H_
