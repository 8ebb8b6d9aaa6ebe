#include <cstdint>
#include <cstring>

#include "core/base/json.h"

namespace berth {
namespace {

// Length of the well-formed sequence at `at`, or 0; `consumed` is then the length of the longest
// prefix that a well-formed sequence could have had, which one U+FFFD stands for.
// Unicode 15, table 3-7.
std::size_t sequence_at(std::string_view bytes, std::size_t at, std::size_t& consumed) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t first = byte(at);
  consumed = 1;
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0) return 0;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= bytes.size() || byte(at + i) < low || byte(at + i) > high) return 0;
    consumed = i + 1;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

// Where the ASCII that starts at `at` ends. Most output is nothing else, so it is passed by the word.
std::size_t ascii_end(std::string_view bytes, std::size_t at) {
  constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
  for (; bytes.size() - at >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (at < bytes.size() && static_cast<std::uint8_t>(bytes[at]) < 0x80) ++at;
  return at;
}

}  // namespace

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    if (const std::size_t end = ascii_end(bytes, at); end > at) {
      out.append(bytes.substr(at, end - at));
      at = end;
      continue;
    }
    std::size_t consumed = 0;
    const std::size_t length = sequence_at(bytes, at, consumed);
    if (length != 0) {
      out.append(bytes.substr(at, length));
      at += length;
    } else {
      out.append("\xEF\xBF\xBD");
      at += consumed;
    }
  }
  return out;
}

bool is_valid_utf8(std::string_view bytes) {
  for (std::size_t at = ascii_end(bytes, 0); at < bytes.size(); at = ascii_end(bytes, at)) {
    std::size_t consumed = 0;
    const std::size_t length = sequence_at(bytes, at, consumed);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace berth
