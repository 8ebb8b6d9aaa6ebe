#include "plugins/http/headers.h"

#include <algorithm>
#include <stdexcept>

namespace berth::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

void Headers::add(std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_value(value))
    throw std::invalid_argument("a header field has characters that must not be in one");
  fields_.push_back({std::string(name), std::string(value)});
}

void Headers::set(std::string_view name, std::string_view value) {
  erase(name);
  add(name, value);
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const Header& field : fields_)
    if (same_name(field.name, name)) return field.value;
  return std::nullopt;
}

void Headers::erase(std::string_view name) {
  std::erase_if(fields_, [&](const Header& field) { return same_name(field.name, name); });
}

std::string media_type(const Headers& headers) {
  std::string out(headers.find("content-type").value_or(""));
  out.resize(std::min(out.find(';'), out.size()));
  while (!out.empty() && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

}  // namespace berth::http
