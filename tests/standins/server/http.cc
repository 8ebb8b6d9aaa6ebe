#include "tests/standins/server/http.h"

#include <cctype>

namespace berth::standins {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Calls `each` with what lies between the separators.
template <class Each>
void split(std::string_view text, char separator, Each each) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    each(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string_view Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

std::vector<std::string> Request::parameters(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : query) {
    if (key == name) found.push_back(value);
  }
  return found;
}

std::string percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    if (escape) {
      decoded.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

bool split_target(Request* request) {
  const std::string_view target = request->target;
  if (target.empty() || target.front() != '/') return false;
  const std::size_t mark = target.find('?');
  split(target.substr(1, mark == std::string_view::npos ? mark : mark - 1), '/', [&](std::string_view one) {
    if (!one.empty()) request->segments.push_back(percent_decoded(one, false));
  });
  for (const std::string& one : request->segments) request->path += "/" + one;
  if (mark == std::string_view::npos) return true;
  split(target.substr(mark + 1), '&', [&](std::string_view one) {
    const std::size_t equals = one.find('=');
    request->query.emplace_back(
        percent_decoded(one.substr(0, equals), true),
        equals == std::string_view::npos ? "" : percent_decoded(one.substr(equals + 1), true));
  });
  return true;
}

}  // namespace berth::standins
