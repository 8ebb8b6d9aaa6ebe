#include "plugins/vercel/encoding.h"

#include <openssl/rand.h>

#include <array>
#include <cstdint>

#include "berth/outcome.hpp"

namespace berth::vercel {
namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return out;
}

std::string fresh_name(std::string_view prefix) {
  std::array<unsigned char, 12> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
    throw Failure::rejected(Code::kInternal, "no random bytes for a name");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(prefix);
  for (const unsigned char byte : random) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

}  // namespace berth::vercel
