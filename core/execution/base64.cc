#include "core/execution/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace berth {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
  std::array<std::int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

constexpr std::array<std::int8_t, 256> kValues = make_values();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t block = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      block = (block << 8) | (j < have ? static_cast<std::uint8_t>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= have ? kAlphabet[(block >> (18 - 6 * j)) & 63u] : '=';
    }
  }
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  const auto bad = [] { return fail(ErrorKind::kCorrupt, "a file is not base64"); };
  if (text.size() % 4 != 0) return bad();
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t digits = i + 4 == text.size() ? 4 - padding : 4;
    std::uint32_t block = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const int value = j < digits ? kValues[static_cast<unsigned char>(text[i + j])] : 0;
      if (value < 0) return bad();
      block = (block << 6) | static_cast<std::uint32_t>(value);
    }
    for (std::size_t j = 0; j + 1 < digits; ++j) {
      out += static_cast<char>((block >> (16 - 8 * j)) & 0xFFu);
    }
  }
  return out;
}

}  // namespace berth
