// Writes tar archives (POSIX ustar, with a pax header where a path or size needs one), and wraps
// bytes into gzip without compressing them.
//
//   body = tar_head({"bin/run.sh", contents.size(), 0755}) + contents +
//   tar_padding(contents.size())
//          + tar_end();
//
// Values; any thread. A path that is absolute, empty or has ".." throws std::invalid_argument.
#ifndef BERTH_PLUGINS_HTTP_TAR_H_
#define BERTH_PLUGINS_HTTP_TAR_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::http {

struct TarFile {
  std::string path;  // relative, with slashes
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0644;
  std::uint64_t modified_unix_s = 0;
};

std::string tar_head(const TarFile& file);
// What follows the contents of a file: zeros up to a whole block.
std::string tar_padding(std::uint64_t size_bytes);
std::string tar_end();

// A gzip stream that carries bytes as they are, for services that take nothing else: its size is
// known beforehand, so contents can be streamed through.
class StoredGzip {
 public:
  // Of the whole stream that carries so many bytes.
  static std::uint64_t size_of(std::uint64_t bytes);

  explicit StoredGzip(std::uint64_t bytes) : left_(bytes) {}
  static std::string head();
  // The piece, framed. All pieces together have the bytes announced.
  std::string put(std::string_view piece);
  // Once they have all been put.
  std::string end() const;

 private:
  std::uint64_t left_;
  std::uint64_t in_block_ = 0;      // of the current block, still to come
  std::uint32_t crc_ = 0xffffffff;  // the remainder so far
  std::uint32_t size_ = 0;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_TAR_H_
