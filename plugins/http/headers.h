// The header fields of a request or an answer: in order, found without regard to case.
//
// Values; not shared between threads. A name or value that would break out of its line throws
// std::invalid_argument without repeating it.
#ifndef BERTH_PLUGINS_HTTP_HEADERS_H_
#define BERTH_PLUGINS_HTTP_HEADERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/http/secret.h"

namespace berth::http {

struct Header {
  std::string name;
  std::string value;
};

class Headers {
 public:
  void add(std::string_view name, std::string_view value);
  // Replaces every field of this name.
  void set(std::string_view name, std::string_view value);

  std::optional<std::string_view> find(std::string_view name) const;
  void erase(std::string_view name);
  const std::vector<Header>& all() const { return fields_; }

 private:
  std::vector<Header> fields_;
};

bool same_name(std::string_view a, std::string_view b);

// The media type of a Content-Type value, in lower case and without parameters.
std::string media_type(const Headers& headers);

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_HEADERS_H_
