#include "core/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <vector>

namespace berth {
namespace {

// Boost.JSON keeps the last of two equal keys without a word. The text has as many keys as the value
// has members, unless one was repeated; counting both finds that in one pass, escapes included.
std::size_t keys_in_text(std::string_view text) {
  std::size_t keys = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    for (++at; text[at] != '"';) at += text[at] == '\\' ? 2 : 1;
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + 1);
    if (next != std::string_view::npos && text[next] == ':') ++keys;
  }
  return keys;
}

std::size_t members_in(const boost::json::value& value) {
  std::size_t members = 0;
  if (const auto* object = value.if_object()) {
    members = object->size();
    for (const auto& member : *object) members += members_in(member.value());
  } else if (const auto* array = value.if_array()) {
    for (const auto& element : *array) members += members_in(element);
  }
  return members;
}

void append_canonical(const boost::json::value& value, std::string& out) {
  if (const auto* object = value.if_object()) {
    std::vector<const boost::json::key_value_pair*> members;
    members.reserve(object->size());
    for (const auto& member : *object) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
    out.push_back('{');
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i != 0) out.push_back(',');
      out.append(boost::json::serialize(members[i]->key()));
      out.push_back(':');
      append_canonical(members[i]->value(), out);
    }
    out.push_back('}');
  } else if (const auto* array = value.if_array()) {
    out.push_back('[');
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i != 0) out.push_back(',');
      append_canonical((*array)[i], out);
    }
    out.push_back(']');
  } else {
    out.append(boost::json::serialize(value));
  }
}

tl::unexpected<Error> wrong(std::string_view path, std::string_view key, std::string_view expected,
                            const boost::json::value* found) {
  static constexpr const char* kKinds[] = {"null",   "a boolean", "an integer", "an integer",
                                           "a float", "a string",  "an array",   "an object"};
  if (found == nullptr)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("{}.{} is missing; it must be {}", path, key, expected));
  return fail(ErrorKind::kInvalidArgument,
              fmt::format("{}.{} must be {}, not {}", path, key, expected,
                          kKinds[static_cast<std::size_t>(found->kind())]));
}

}  // namespace

Result<boost::json::value> parse_json(std::string_view text, JsonBounds bounds) {
  if (text.size() > bounds.bytes_max)
    return fail(ErrorKind::kLimit, fmt::format("the document has {} bytes; at most {} are read",
                                               text.size(), bounds.bytes_max));
  boost::json::parse_options options;
  options.max_depth = bounds.depth_max;
  boost::json::stream_parser parser({}, options);
  boost::json::error_code code;
  const std::size_t used = parser.write_some(text.data(), text.size(), code);
  if (!code) parser.finish(code);
  if (code)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("not valid json: {} at byte {}", code.message(), used));
  const std::size_t rest = text.find_first_not_of(" \t\r\n", used);
  if (rest != std::string_view::npos)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("not valid json: text after the document at byte {}", rest));
  boost::json::value value = parser.release();
  if (keys_in_text(text) != members_in(value))
    return fail(ErrorKind::kInvalidArgument, "a key is repeated in the json document");
  return value;
}

std::string canonical_json(const boost::json::value& value) {
  std::string out;
  append_canonical(value, out);
  return out;
}

std::string to_json_text(const boost::json::value& value) { return boost::json::serialize(value); }

Result<std::string> json_string(const boost::json::object& object, std::string_view key,
                                std::string_view path) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return wrong(path, key, "a string", value);
  return std::string(value->get_string());
}

Result<std::int64_t> json_int(const boost::json::object& object, std::string_view key,
                              std::string_view path) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_int64()) return wrong(path, key, "an integer", value);
  return value->get_int64();
}

Result<bool> json_bool(const boost::json::object& object, std::string_view key,
                       std::string_view path) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_bool()) return wrong(path, key, "a boolean", value);
  return value->get_bool();
}

Result<const boost::json::object*> json_object(const boost::json::object& object,
                                               std::string_view key, std::string_view path) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_object()) return wrong(path, key, "an object", value);
  return &value->get_object();
}

Result<const boost::json::array*> json_array(const boost::json::object& object,
                                             std::string_view key, std::string_view path) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_array()) return wrong(path, key, "an array", value);
  return &value->get_array();
}

}  // namespace berth
