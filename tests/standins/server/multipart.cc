#include "tests/standins/server/multipart.h"

namespace berth::standins {
namespace {

// The value of `key="..."` or `key=...` in a header's parameters.
std::string parameter(std::string_view header, std::string_view key) {
  std::size_t at = 0;
  while ((at = header.find(key, at)) != std::string_view::npos) {
    const bool begins = at == 0 || header[at - 1] == ' ' || header[at - 1] == ';';
    at += key.size();
    if (!begins || at >= header.size() || header[at] != '=') continue;
    std::string_view value = header.substr(at + 1);
    if (value.starts_with('"')) return std::string(value.substr(1, value.find('"', 1) - 1));
    return std::string(value.substr(0, value.find(';')));
  }
  return {};
}

}  // namespace

std::optional<std::vector<Part>> parts_of(std::string_view type, std::string_view body) {
  if (!type.starts_with("multipart/form-data")) return std::nullopt;
  const std::string boundary = "--" + parameter(type, "boundary");
  if (boundary.size() == 2 || !body.starts_with(boundary)) return std::nullopt;
  std::vector<Part> parts;
  body.remove_prefix(boundary.size());
  while (!body.starts_with("--")) {
    if (!body.starts_with("\r\n")) return std::nullopt;
    body.remove_prefix(2);
    const std::size_t head_end = body.find("\r\n\r\n");
    const std::size_t end = body.find("\r\n" + boundary);
    if (head_end == std::string_view::npos || end == std::string_view::npos || end < head_end + 2) {
      return std::nullopt;
    }
    const std::string_view head = body.substr(0, head_end);
    Part part;
    part.name = parameter(head, "name");
    part.file_name = parameter(head, "filename");
    part.contents = end < head_end + 4 ? std::string_view() : body.substr(head_end + 4, end - head_end - 4);
    parts.push_back(std::move(part));
    body.remove_prefix(end + 2 + boundary.size());
  }
  return parts;
}

}  // namespace berth::standins
