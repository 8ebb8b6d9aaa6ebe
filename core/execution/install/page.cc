#include "core/execution/install/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "core/base/json.h"

namespace berth::install {
namespace {

constexpr std::size_t kFileNameBytesMax = 255;

bool is_blank_character(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

std::string decoded(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kNamed = {
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '&' ? text.find(';', i) : text.npos;
    if (end == text.npos || end - i > 8) {
      out += text[i];
      continue;
    }
    const std::string_view name = text.substr(i + 1, end - i - 1);
    char meant = 0;
    for (const auto& [known, c] : kNamed) {
      if (name == known) meant = c;
    }
    if (name.size() > 1 && name[0] == '#') {
      const bool hex = name[1] == 'x' || name[1] == 'X';
      const std::string_view digits = name.substr(hex ? 2 : 1);
      unsigned code = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
      if (code >= 0x20 && code < 0x7f) meant = static_cast<char>(code);
    }
    if (meant == 0) {
      out += text[i];
      continue;
    }
    out += meant;
    i = end;
  }
  return out;
}

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// The attributes of one tag, one by one.
class Attributes {
 public:
  explicit Attributes(std::string_view rest) : rest_(rest) {}

  // False at the tag's end.
  bool next(std::string& name, std::string& value) {
    while (!rest_.empty() && (is_blank_character(rest_.front()) || rest_.front() == '/')) {
      rest_.remove_prefix(1);
    }
    if (rest_.empty() || rest_.front() == '>') return false;
    std::size_t end = 0;
    while (end < rest_.size() && !is_blank_character(rest_[end]) && rest_[end] != '=' &&
           rest_[end] != '>') {
      ++end;
    }
    if (end == 0) return false;
    name = rest_.substr(0, end);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    rest_.remove_prefix(end);
    value.clear();
    if (rest_.empty() || rest_.front() != '=') return true;
    rest_.remove_prefix(1);
    take_value(value);
    return true;
  }
  std::string_view rest() const { return rest_; }

 private:
  void take_value(std::string& value) {
    if (rest_.empty()) return;
    const char quote = rest_.front();
    if (quote == '"' || quote == '\'') {
      const std::size_t end = std::min(rest_.find(quote, 1), rest_.size());
      value = decoded(rest_.substr(1, end - 1));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      return;
    }
    std::size_t end = 0;
    while (end < rest_.size() && !is_blank_character(rest_[end]) && rest_[end] != '>') ++end;
    value = decoded(rest_.substr(0, end));
    rest_.remove_prefix(end);
  }

  std::string_view rest_;
};

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.size() <= kFileNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view("._+!-~%").find(c) != std::string_view::npos;
         });
}

void take_hash(PageLink& link) {
  for (const std::string_view algorithm : {"sha256", "sha512", "sha384", "sha224", "sha1", "md5"}) {
    const std::size_t at = link.url.fragment.find(std::string(algorithm) + "=");
    if (at == std::string::npos) continue;
    std::string_view value = std::string_view(link.url.fragment).substr(at + algorithm.size() + 1);
    value = value.substr(0, value.find('&'));
    const bool hex = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    });
    if (!hex || value.size() > 128) continue;
    link.hash = fmt::format("{}={}", algorithm, value);
    if (algorithm == "sha256" && value.size() == 64) link.sha256 = value;
    return;
  }
}

std::optional<PageLink> read_link(Attributes& attributes, const Url& base) {
  PageLink link;
  std::string reference;
  std::string name;
  std::string value;
  while (attributes.next(name, value)) {
    if (name == "href") reference = value;
    if (name == "data-requires-python") link.requires_python = to_valid_utf8(value);
    if (name == "data-yanked") link.yanked = to_valid_utf8(value);
  }
  auto url = resolve(base, reference);
  if (reference.empty() || !url) return std::nullopt;
  link.url = std::move(*url);
  link.url.credentials.clear();
  link.file_name = link.url.file_name();
  if (!is_plain_file_name(link.file_name) || !is_package_file(link.file_name)) return std::nullopt;
  take_hash(link);
  return link;
}

// True when a tag called `name` (lower case) begins at the '<' in `html`.
bool begins_tag(std::string_view html, std::string_view name) {
  if (html.size() < name.size() + 2 || !is_blank_character(html[name.size() + 1])) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(html[i + 1])) != name[i]) return false;
  }
  return true;
}

}  // namespace

bool is_package_file(std::string_view name) {
  for (const std::string_view end : {".whl", ".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tgz"}) {
    if (name.size() > end.size() && name.substr(name.size() - end.size()) == end) return true;
  }
  return false;
}

std::vector<PageLink> read_page(std::string_view html, const Url& base, std::size_t count_max) {
  std::vector<PageLink> links;
  Url from = base;
  for (std::size_t at = html.find('<'); at != html.npos && links.size() < count_max;
       at = html.find('<', at + 1)) {
    const std::string_view tag = html.substr(at);
    if (tag.rfind("<!--", 0) == 0) {
      at = html.find("-->", at);
      if (at == html.npos) break;
    } else if (begins_tag(tag, "a")) {
      Attributes attributes(tag.substr(2));
      if (auto link = read_link(attributes, from)) links.push_back(std::move(*link));
    } else if (begins_tag(tag, "base")) {
      Attributes attributes(tag.substr(5));
      std::string name;
      std::string value;
      while (attributes.next(name, value)) {
        if (name != "href") continue;
        if (auto url = resolve(base, value)) from = std::move(*url);
      }
    }
  }
  return links;
}

std::string link_line(const PageLink& link, std::string_view target) {
  std::string line = fmt::format("<a href=\"{}{}{}\"", target, link.hash.empty() ? "" : "#", link.hash);
  if (!link.requires_python.empty()) {
    line += fmt::format(" data-requires-python=\"{}\"", encoded(link.requires_python));
  }
  if (link.yanked) line += fmt::format(" data-yanked=\"{}\"", encoded(*link.yanked));
  return line + ">" + link.file_name + "</a><br>\n";
}

}  // namespace berth::install
