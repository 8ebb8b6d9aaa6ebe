#include "core/execution/install/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

namespace berth::install {
namespace {

constexpr std::size_t kUrlBytesMax = 8192;

tl::unexpected<Error> bad_url(std::string_view what) {
  return fail(ErrorKind::kInvalidArgument, fmt::format("the URL {}", what));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

bool starts_with_scheme(std::string_view text) {
  const std::size_t end = text.find_first_of(":/?#");
  return end != text.npos && end > 0 && text[end] == ':';
}

// Whatever could end a request line or a header is refused, never sent.
bool is_sendable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Status take_authority(std::string_view authority, Url& url) {
  const std::size_t at = authority.rfind('@');
  if (at != authority.npos) {
    url.credentials = percent_decoded(authority.substr(0, at));
    if (url.credentials.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return bad_url("has credentials with a line end or a NUL in them");
    }
    if (url.credentials.find(':') == std::string::npos) url.credentials += ':';
    authority.remove_prefix(at + 1);
  }
  std::string_view host = authority;
  std::string_view port;
  const bool bracketed = !host.empty() && host.front() == '[';
  const std::size_t colon = bracketed ? host.find(':', host.find(']')) : host.find(':');
  if (colon != host.npos) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (bracketed) {
    if (host.back() != ']') return bad_url("has an address without its closing bracket");
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty()) return bad_url("names no host");
  url.host = host;
  for (char& c : url.host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool plain = std::all_of(url.host.begin(), url.host.end(), [bracketed](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' ||
           (bracketed && c == ':');
  });
  if (!plain) return bad_url("has a host name with other characters than letters, digits, '.', '-', '_'");
  url.port = url.https ? 443 : 80;
  if (port.empty()) return {};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port == 0) {
    return bad_url("has a port that is not a number from 1 to 65535");
  }
  return {};
}

// Removes '.' and '..' segments of a path.
std::string tidy_path(std::string_view path) {
  std::vector<std::string_view> kept;
  std::size_t at = 1;
  bool open_end = false;
  while (at <= path.size()) {
    std::size_t end = path.find('/', at);
    if (end == path.npos) end = path.size();
    const std::string_view segment = path.substr(at, end - at);
    open_end = segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (segment != "." && !(segment.empty() && end == path.size())) {
      kept.push_back(segment);
    }
    at = end + 1;
  }
  std::string out;
  for (const std::string_view segment : kept) out.append("/").append(segment);
  if (open_end || out.empty()) out += '/';
  return out;
}

}  // namespace

std::string Url::origin() const { return fmt::format("{}:{}", host, port); }

std::string Url::display() const {
  const bool address = host.find(':') != std::string::npos;
  const bool usual = port == (https ? 443 : 80);
  return fmt::format("{}://{}{}{}{}{}", https ? "https" : "http", address ? "[" : "", host,
                     address ? "]" : "", usual ? std::string() : fmt::format(":{}", port),
                     std::string_view(target).substr(0, target.find('?')));
}

std::string_view Url::file_name() const {
  std::string_view path = std::string_view(target).substr(0, target.find('?'));
  return path.substr(path.rfind('/') + 1);
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kUrlBytesMax) return bad_url(fmt::format("is longer than {} bytes", kUrlBytesMax));
  Url url;
  if (text.rfind("https://", 0) == 0) {
    url.https = true;
    text.remove_prefix(8);
  } else if (text.rfind("http://", 0) == 0) {
    text.remove_prefix(7);
  } else {
    return bad_url("does not begin with http:// or https://");
  }
  const std::size_t hash = text.find('#');
  if (hash != text.npos) {
    url.fragment = text.substr(hash + 1);
    text = text.substr(0, hash);
  }
  const std::size_t path = std::min(text.find_first_of("/?"), text.size());
  BERTH_CHECK_OK(take_authority(text.substr(0, path), url));
  url.target = text.substr(path);
  if (url.target.empty() || url.target.front() != '/') url.target.insert(0, "/");
  if (!is_sendable(url.target)) return bad_url("has a blank or a character outside ASCII in its path");
  return url;
}

Result<Url> resolve(const Url& base, std::string_view reference) {
  if (reference.rfind("//", 0) == 0) {
    return parse_url(std::string(base.https ? "https:" : "http:").append(reference));
  }
  if (starts_with_scheme(reference)) return parse_url(reference);
  if (reference.size() > kUrlBytesMax) return bad_url(fmt::format("is longer than {} bytes", kUrlBytesMax));
  Url url = base;
  url.credentials.clear();
  const std::size_t hash = reference.find('#');
  url.fragment = hash == reference.npos ? "" : reference.substr(hash + 1);
  reference = reference.substr(0, hash);
  const std::string_view base_path = std::string_view(base.target).substr(0, base.target.find('?'));
  const std::size_t query_at = std::min(reference.find('?'), reference.size());
  std::string path(reference.substr(0, query_at));
  if (path.empty()) {
    path = base_path;
  } else if (path.front() != '/') {
    path.insert(0, base_path.substr(0, base_path.rfind('/') + 1));
  }
  url.target = tidy_path(path).append(reference.substr(query_at));
  if (!is_sendable(url.target)) return bad_url("has a blank or a character outside ASCII in its path");
  return url;
}

}  // namespace berth::install
