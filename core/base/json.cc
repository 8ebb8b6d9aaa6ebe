#include "core/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace berth {
namespace {

// Builds the value like Boost.JSON's own handler, with two differences. Boost.JSON 1.81 may miss a
// double by a unit in the last place, which would give one document two canonical texts; here the
// number's own text is converted, exactly. And the keys are counted, to find those that repeat.
class ValueBuilder {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();
  using Text = boost::json::string_view;
  using Code = boost::json::error_code;

  ValueBuilder() { stack_.reset(); }
  boost::json::value release() { return stack_.release(); }
  std::size_t keys() const { return keys_; }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_object_end(std::size_t members, Code&) { return stack_.push_object(members), true; }
  bool on_array_end(std::size_t elements, Code&) { return stack_.push_array(elements), true; }
  bool on_key_part(Text text, std::size_t, Code&) { return stack_.push_chars(text), true; }
  bool on_string_part(Text text, std::size_t, Code&) { return stack_.push_chars(text), true; }
  bool on_string(Text text, std::size_t, Code&) { return stack_.push_string(text), true; }
  bool on_key(Text text, std::size_t, Code&) {
    ++keys_;
    stack_.push_key(text);
    return true;
  }
  bool on_number_part(Text text, Code&) { return number_.append(text), true; }
  bool on_int64(std::int64_t number, Text, Code&) {
    number_.clear();
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, Text, Code&) {
    number_.clear();
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double nearly, Text text, Code& code) {
    number_.append(text);
    double number = 0;
    const auto read = std::from_chars(number_.data(), number_.data() + number_.size(), number);
    number_.clear();
    if (read.ec != std::errc{}) {
      if (!(std::abs(nearly) < 1)) {
        code = boost::json::error::exponent_overflow;
        return false;
      }
      number = std::copysign(0.0, nearly);
    }
    stack_.push_double(number);
    return true;
  }
  bool on_bool(bool value, Code&) { return stack_.push_bool(value), true; }
  bool on_null(Code&) { return stack_.push_null(), true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

 private:
  boost::json::value_stack stack_;
  std::string number_;
  std::size_t keys_ = 0;
};

// Boost.JSON keeps the last of two equal keys without a word: a value with fewer members than its
// text had keys lost one.
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
  boost::json::basic_parser<ValueBuilder> parser(options);
  boost::json::error_code code;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
  if (code)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("not valid json: {} at byte {}", code.message(), used));
  const std::size_t rest = text.find_first_not_of(" \t\r\n", used);
  if (rest != std::string_view::npos)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("not valid json: text after the document at byte {}", rest));
  boost::json::value value = parser.handler().release();
  if (parser.handler().keys() != members_in(value))
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
