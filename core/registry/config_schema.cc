#include "core/registry/config_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <set>

#include "core/base/json.h"
#include "core/registry/json_words.h"

namespace berth::registry {
namespace {

namespace json = boost::json;

bool has_type(const json::value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  if (type == "number") return value.is_number();
  return false;
}

class Validator {
 public:
  explicit Validator(const json::object& root) : root_(root) {}

  void check(const json::value& schema, const json::value& value, const std::string& path,
             std::size_t depth) {
    if (faults_.size() >= kSchemaFaultsMax) return;
    if (depth > kSchemaDepthMax)
      return fault(path, "is nested deeper than this host checks");
    if (const bool* allowed = schema.if_bool()) {
      if (!*allowed) fault(path, "is not allowed");
      return;
    }
    const auto* object = schema.if_object();
    if (object == nullptr) return fault(path, "has a schema that is neither an object nor a boolean");
    for (const auto& member : *object) keyword(member.key(), member.value(), value, path, depth);
    const bool closed = object->contains("properties") || object->contains("additionalProperties");
    if (value.is_object() && closed) members(*object, value.get_object(), path, depth);
  }

  std::vector<std::string> take() { return std::move(faults_); }

 private:
  void fault(const std::string& path, std::string_view what) {
    if (faults_.size() < kSchemaFaultsMax) faults_.push_back(fmt::format("{} {}", path, what));
  }

  void keyword(std::string_view key, const json::value& rule, const json::value& value,
               const std::string& path, std::size_t depth) {
    static constexpr std::array<std::string_view, 11> kPassedOver{
        "description", "title",      "default",              "examples", "$comment", "$defs",
        "$schema",     "properties", "additionalProperties", "$id",      "deprecated"};
    if (std::find(kPassedOver.begin(), kPassedOver.end(), key) != kPassedOver.end()) return;
    if (key == "type") return type(rule, value, path);
    if (key == "$ref") return reference(rule, value, path, depth);
    if (key == "enum") return one_of(rule, value, path);
    if (key == "const") {
      if (rule != value) fault(path, fmt::format("must be {}, not {}", shown(rule), shown(value)));
      return;
    }
    if (key == "required") return required(rule, value, path);
    if (key == "items") {
      if (!value.is_array()) return;
      for (std::size_t i = 0; i < value.get_array().size(); ++i)
        check(rule, value.get_array()[i], fmt::format("{}[{}]", path, i), depth + 1);
      return;
    }
    if (key == "uniqueItems") return unique(rule, value, path);
    bound(key, rule, value, path);
  }

  void type(const json::value& rule, const json::value& value, const std::string& path) {
    if (const auto* one = rule.if_string()) {
      if (!has_type(value, *one))
        fault(path, fmt::format("must be of type {}, not {}", std::string_view(*one), shown(value)));
      return;
    }
    const auto* several = rule.if_array();
    const bool good = several != nullptr &&
                      std::any_of(several->begin(), several->end(), [&](const json::value& one) {
                        return one.is_string() && has_type(value, one.get_string());
                      });
    if (!good) fault(path, fmt::format("must be of one of the types {}", shown(rule)));
  }

  void reference(const json::value& rule, const json::value& value, const std::string& path,
                 std::size_t depth) {
    static constexpr std::string_view kPrefix = "#/$defs/";
    const auto* target = rule.if_string();
    const auto* all = root_.if_contains("$defs");
    if (target != nullptr && target->starts_with(kPrefix) && all != nullptr && all->is_object()) {
      const auto* found =
          all->get_object().if_contains(std::string_view(*target).substr(kPrefix.size()));
      if (found != nullptr) return check(*found, value, path, depth + 1);
    }
    fault(path, fmt::format("has a schema that refers to {}, which is not there", shown(rule)));
  }

  void one_of(const json::value& rule, const json::value& value, const std::string& path) {
    const auto* all = rule.if_array();
    if (all == nullptr || std::find(all->begin(), all->end(), value) == all->end())
      fault(path, fmt::format("must be one of {}, not {}", shown(rule), shown(value)));
  }

  void required(const json::value& rule, const json::value& value, const std::string& path) {
    const auto* names = rule.if_array();
    if (names == nullptr || !value.is_object()) return;
    for (const json::value& name : *names)
      if (name.is_string() && !value.get_object().contains(name.get_string()))
        fault(path, fmt::format("lacks {}", shown(name)));
  }

  void unique(const json::value& rule, const json::value& value, const std::string& path) {
    if (rule != json::value(true) || !value.is_array()) return;
    std::set<std::string> seen;
    for (const json::value& item : value.get_array())
      if (!seen.insert(canonical_json(item)).second)
        return fault(path, fmt::format("repeats {}", shown(item)));
  }

  void bound(std::string_view key, const json::value& rule, const json::value& value,
             const std::string& path) {
    struct Bound {
      std::string_view key;
      bool lower;
      char of;  // what is counted: n(umber), s(tring), a(rray)
    };
    static constexpr std::array<Bound, 6> kBounds{{{"minimum", true, 'n'},
                                                   {"maximum", false, 'n'},
                                                   {"minLength", true, 's'},
                                                   {"maxLength", false, 's'},
                                                   {"minItems", true, 'a'},
                                                   {"maxItems", false, 'a'}}};
    const auto* found = std::find_if(kBounds.begin(), kBounds.end(),
                                     [&](const Bound& b) { return b.key == key; });
    if (found == kBounds.end())
      return fault(path, fmt::format("has a schema with \"{}\", which this host cannot check", key));
    if (!rule.is_number()) return fault(path, fmt::format("has a schema whose {} is no number", key));
    double size = 0;
    if (found->of == 'n' && value.is_number()) size = value.to_number<double>();
    else if (found->of == 's' && value.is_string())
      size = static_cast<double>(characters(value.get_string()));
    else if (found->of == 'a' && value.is_array())
      size = static_cast<double>(value.get_array().size());
    else return;
    const double limit = rule.to_number<double>();
    if (found->lower ? size < limit : size > limit)
      fault(path, fmt::format("breaks {} {}: {}", key, shown(rule), shown(value)));
  }

  void members(const json::object& schema, const json::object& value, const std::string& path,
               std::size_t depth) {
    const auto* properties = schema.if_contains("properties");
    const auto* rest = schema.if_contains("additionalProperties");
    for (const auto& member : value) {
      const std::string place = fmt::format("{}.{}", path, std::string_view(member.key()));
      const auto* known = properties != nullptr && properties->is_object()
                              ? properties->get_object().if_contains(member.key())
                              : nullptr;
      if (known != nullptr) check(*known, member.value(), place, depth + 1);
      else if (rest != nullptr && *rest == json::value(false))
        fault(place, "is not a setting of this provider");
      else if (rest != nullptr) check(*rest, member.value(), place, depth + 1);
    }
  }

  const json::object& root_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> schema_faults(const json::object& schema, const json::value& value,
                                       std::string_view path) {
  Validator validator(schema);
  validator.check(json::value(schema), value, std::string(path), 0);
  return validator.take();
}

}  // namespace berth::registry
