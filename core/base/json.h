// Bounded JSON: every parse of foreign input goes through here.
//
// Boost.JSON values are used as they are; this header adds the bounds, canonical text, and typed
// access with errors that name the path of what is wrong.
#ifndef BERTH_CORE_BASE_JSON_H_
#define BERTH_CORE_BASE_JSON_H_

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace berth {

struct JsonBounds {
  std::size_t bytes_max = std::size_t{1} << 20;
  std::size_t depth_max = 32;
};

// Parses one RFC 8259 document. Duplicate keys, trailing text, invalid UTF-8 and anything beyond
// the bounds are errors that give the byte offset. Numbers are read exactly: an integer that fits 64
// bits is one, anything else is the nearest double, and what no double holds is an error. Any thread.
Result<boost::json::value> parse_json(std::string_view text, JsonBounds bounds = {});

// Keys sorted by bytes, no spaces, shortest escapes: equal documents give equal text.
std::string canonical_json(const boost::json::value& value);

// Compact text in the document's own key order.
std::string to_json_text(const boost::json::value& value);

// Member access. `path` is how errors name the place ("manifest.abi").
Result<std::string> json_string(const boost::json::object& object, std::string_view key,
                                std::string_view path);
Result<std::int64_t> json_int(const boost::json::object& object, std::string_view key,
                              std::string_view path);
Result<bool> json_bool(const boost::json::object& object, std::string_view key,
                       std::string_view path);
Result<const boost::json::object*> json_object(const boost::json::object& object,
                                               std::string_view key, std::string_view path);
Result<const boost::json::array*> json_array(const boost::json::object& object,
                                             std::string_view key, std::string_view path);

// The same bytes with every invalid UTF-8 sequence replaced by U+FFFD, as the WHATWG decoder does.
std::string to_valid_utf8(std::string_view bytes);
bool is_valid_utf8(std::string_view bytes);

}  // namespace berth

#endif  // BERTH_CORE_BASE_JSON_H_
