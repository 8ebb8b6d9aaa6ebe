// Fields of a service's JSON, read with suspicion: what is missing or of another type is empty.
//
// Any thread. What is returned owns its text, but for view().
#ifndef BERTH_PLUGINS_HTTP_JSON_FIELDS_H_
#define BERTH_PLUGINS_HTTP_JSON_FIELDS_H_

#include <boost/json/object.hpp>
#include <boost/json/string_view.hpp>
#include <string>
#include <string_view>

namespace berth::http {

// The same bytes, as Boost.JSON takes them.
inline boost::json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

inline std::string text_field(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(view(key));
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_JSON_FIELDS_H_
