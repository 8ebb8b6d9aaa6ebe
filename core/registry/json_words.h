// What the readers of documents have in common.
#ifndef BERTH_CORE_REGISTRY_JSON_WORDS_H_
#define BERTH_CORE_REGISTRY_JSON_WORDS_H_

#include <algorithm>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json.h"

namespace berth::registry {

// JSON Schema bounds texts in characters, not bytes.
inline std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// A foreign value inside a sentence: its beginning, when it is long.
inline std::string shown(const boost::json::value& value) {
  constexpr std::size_t kBytesMax = 120;
  std::string text = to_json_text(value);
  if (text.size() > kBytesMax) text = to_valid_utf8(text.substr(0, kBytesMax - 3)) + "...";
  return text;
}

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_JSON_WORDS_H_
