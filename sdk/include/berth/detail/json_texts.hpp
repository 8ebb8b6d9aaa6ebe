// SPDX-License-Identifier: Apache-2.0
//
// The strings in a configuration value: all that most providers want of JSON.
#ifndef BERTH_DETAIL_JSON_TEXTS_HPP
#define BERTH_DETAIL_JSON_TEXTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {
inline namespace sdk_v1 {
namespace detail {

class JsonTexts {
 public:
  // `json` is what the host hands out, which it has parsed and checked against the manifest's schema.
  explicit JsonTexts(std::string_view json) : json_(json) {}

  std::vector<std::string> all() {
    std::vector<std::string> texts;
    while (at_ < json_.size())
      if (next() == '"') texts.push_back(text());
    return texts;
  }

 private:
  char next() { return at_ < json_.size() ? json_[at_++] : '\0'; }

  // From behind its first quotation mark.
  std::string text() {
    std::string out;
    while (at_ < json_.size()) {
      const char c = next();
      if (c == '"') break;
      if (c == '\\') escaped(out);
      else out += c;
    }
    return out;
  }

  void escaped(std::string& out) {
    switch (const char c = next()) {
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': append(out, code_point()); break;
      default: out += c;
    }
  }

  // RFC 8259, section 7: what is outside the basic plane is written as two.
  std::uint32_t code_point() {
    const std::uint32_t first = four_digits();
    if (first < 0xD800 || first > 0xDBFF || json_.substr(at_, 2) != "\\u") return first;
    at_ += 2;
    return 0x10000 + ((first - 0xD800) << 10) + (four_digits() - 0xDC00);
  }

  std::uint32_t four_digits() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = next();
      const int digit = c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : c - '0';
      value = value * 16 + static_cast<std::uint32_t>(digit & 0xF);
    }
    return value;
  }

  static void append(std::string& out, std::uint32_t code) {
    const auto add = [&out](std::uint32_t byte) {
      out += static_cast<char>(static_cast<unsigned char>(byte));
    };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
      add(0xC0 | code >> 6);
    } else if (code < 0x10000) {
      add(0xE0 | code >> 12);
      add(0x80 | (code >> 6 & 0x3F));
    } else {
      add(0xF0 | (code >> 18 & 0x07));
      add(0x80 | (code >> 12 & 0x3F));
      add(0x80 | (code >> 6 & 0x3F));
    }
    add(0x80 | (code & 0x3F));
  }

  std::string_view json_;
  std::size_t at_ = 0;
};

}  // namespace detail
}  // namespace sdk_v1
}  // namespace berth

#endif  // BERTH_DETAIL_JSON_TEXTS_HPP
