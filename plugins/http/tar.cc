#include "plugins/http/tar.h"

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cstring>
#include <stdexcept>

namespace berth::http {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kOctalMax = (std::uint64_t{1} << 33) - 1;  // 11 octal digits
constexpr std::uint64_t kStoredMax = 65535;                        // of a deflate block

void put_text(char* at, std::size_t room, std::string_view text) {
  text.copy(at, room);
}

void put_octal(char* at, std::size_t digits, std::uint64_t number) {
  for (std::size_t i = digits; i-- > 0; number >>= 3) at[i] = static_cast<char>('0' + (number & 7));
}

std::string header(std::string_view path, std::uint64_t size, std::uint32_t mode,
                   std::uint64_t modified, char kind) {
  std::array<char, kBlock> block{};
  std::string_view name = path, prefix;
  if (path.size() > 100) {
    const auto slash = path.find('/', path.size() - 101);
    if (slash != std::string_view::npos && slash <= 155) {
      prefix = path.substr(0, slash);
      name = path.substr(slash + 1);
    }
  }
  put_text(block.data(), 100, name);
  put_octal(block.data() + 100, 7, mode & 07777);
  put_octal(block.data() + 108, 7, 0);
  put_octal(block.data() + 116, 7, 0);
  put_octal(block.data() + 124, 11, size);
  put_octal(block.data() + 136, 11, std::min(modified, kOctalMax));
  std::memset(block.data() + 148, ' ', 8);
  block[156] = kind;
  put_text(block.data() + 257, 8, std::string_view("ustar\00000", 8));
  put_text(block.data() + 345, 155, prefix);
  std::uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put_octal(block.data() + 148, 6, sum);
  block[154] = '\0';
  return std::string(block.data(), block.size());
}

// "length key=value\n", where the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return std::to_string(length) + " " + std::string(key) + "=" + std::string(value) + "\n";
}

bool fits(std::string_view path) {
  if (path.size() <= 100) return true;
  const auto slash = path.find('/', path.size() - 101);
  return slash != std::string_view::npos && slash <= 155;
}

void require_relative(std::string_view path) {
  const bool climbs = path == ".." || path.starts_with("../") || path.ends_with("/..") ||
                      path.find("/../") != std::string_view::npos;
  if (path.empty() || path.front() == '/' || climbs || path.find('\0') != std::string_view::npos)
    throw std::invalid_argument("a path in an archive is relative and stays inside it");
}

std::string little_endian(std::uint64_t number, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, number >>= 8) out.push_back(static_cast<char>(number & 0xff));
  return out;
}

}  // namespace

std::string tar_head(const TarFile& file) {
  require_relative(file.path);
  std::string records;
  if (!fits(file.path)) records += pax_record("path", file.path);
  if (file.size_bytes > kOctalMax) records += pax_record("size", std::to_string(file.size_bytes));
  std::string out;
  if (!records.empty())
    out = header("PaxHeader", records.size(), 0644, file.modified_unix_s, 'x') + records +
          tar_padding(records.size());
  const std::string_view path = file.path;
  return out + header(fits(path) ? path : path.substr(0, 100),
                      file.size_bytes > kOctalMax ? 0 : file.size_bytes, file.mode,
                      file.modified_unix_s, '0');
}

std::string tar_padding(std::uint64_t size_bytes) {
  return std::string((kBlock - size_bytes % kBlock) % kBlock, '\0');
}

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

std::uint64_t StoredGzip::size_of(std::uint64_t bytes) {
  const std::uint64_t blocks = bytes == 0 ? 1 : (bytes + kStoredMax - 1) / kStoredMax;
  return head().size() + bytes + 5 * blocks + 8;
}

std::string StoredGzip::head() {
  return std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
}

std::string StoredGzip::put(std::string_view piece) {
  if (piece.size() > left_ + in_block_)
    throw std::invalid_argument("more bytes for a gzip stream than were announced");
  boost::crc_32_type crc(crc_);
  crc.process_bytes(piece.data(), piece.size());
  crc_ = crc.get_interim_remainder();
  size_ += static_cast<std::uint32_t>(piece.size());
  std::string out;
  while (!piece.empty()) {
    if (in_block_ == 0) {
      in_block_ = std::min(left_, kStoredMax);
      left_ -= in_block_;
      out.push_back(left_ == 0 ? '\1' : '\0');
      out += little_endian(in_block_, 2) + little_endian(~in_block_, 2);
    }
    const auto part = piece.substr(0, in_block_);
    in_block_ -= part.size();
    out += part;
    piece.remove_prefix(part.size());
  }
  return out;
}

std::string StoredGzip::end() const {
  if (left_ != 0 || in_block_ != 0)
    throw std::invalid_argument("fewer bytes for a gzip stream than were announced");
  const std::string empty = size_ == 0 ? std::string("\1\0\0\xff\xff", 5) : std::string();
  return empty + little_endian(boost::crc_32_type(crc_).checksum(), 4) + little_endian(size_, 4);
}

}  // namespace berth::http
