#include "plugins/http/url.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>
#include <charconv>

namespace berth::http {
namespace {

namespace urls = boost::urls;

constexpr std::size_t kUrlBytesMax = 8192;
constexpr std::uint16_t kHttpsPort = 443;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// What may stand in an error text.
std::string without_secrets(std::string_view text) {
  std::string out(text.substr(0, std::min<std::size_t>(text.find_first_of("?#"), 200)));
  const auto slashes = out.find("//");
  const auto at = out.find('@');
  if (slashes != std::string::npos && at != std::string::npos)
    out.replace(slashes + 2, at - slashes - 2, "***");
  return out;
}

Url from(const urls::url_view_base& view, std::string_view text) {
  const std::string shown = without_secrets(text);
  if (lower(view.scheme()) != "https")
    throw UrlError("\"" + shown + "\" does not begin with https://");
  if (view.has_userinfo())
    throw UrlError("\"" + shown + "\" has a user name or password; leave it out");
  Url out;
  out.origin.host = lower(std::string_view(view.encoded_host_address()));
  if (out.origin.host.empty() || out.origin.host.find('%') != std::string::npos)
    throw UrlError("\"" + shown + "\" names no host that can be connected to");
  if (view.host_type() == urls::host_type::ipvfuture)
    throw UrlError("\"" + shown + "\" has an address of an unknown kind");
  const std::string_view port(view.port().data(), view.port().size());
  if (!port.empty()) out.origin.port = port_of(port);
  if (out.origin.port == 0) throw UrlError("\"" + shown + "\" has no usable port");
  out.path = std::string(std::string_view(view.encoded_path()));
  if (out.path.empty()) out.path = "/";
  out.query = std::string(std::string_view(view.encoded_query()));
  return out;
}

}  // namespace

std::uint16_t port_of(std::string_view digits) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? port : 0;
}

std::string Origin::authority() const {
  return (is_ipv6() ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Origin::host_header() const {
  if (port != kHttpsPort) return authority();
  return is_ipv6() ? "[" + host + "]" : host;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

Url Url::parse(std::string_view text) {
  if (text.size() > kUrlBytesMax) throw UrlError("the address is longer than 8192 bytes");
  const auto parsed = urls::parse_uri(urls::string_view(text.data(), text.size()));
  if (!parsed) throw UrlError("\"" + without_secrets(text) + "\" is not an address");
  return from(*parsed, text);
}

Url Url::operator/(std::string_view segment) const {
  // "." and ".." would be taken for folders by whatever stands between; as a name they are not.
  if (segment.empty() || segment == "." || segment == "..")
    throw UrlError("\"" + std::string(segment) + "\" cannot be part of an address");
  return with_path("/" + percent_encode(segment));
}

Url Url::with_path(std::string_view more) const {
  Url out = *this;
  if (out.path.ends_with('/')) out.path.pop_back();
  out.path += more;
  return out;
}

Url Url::with_query(std::string_view key, std::string_view value) const {
  Url out = *this;
  if (!out.query.empty()) out.query += '&';
  out.query += percent_encode(key) + "=" + percent_encode(value);
  return out;
}

Url Url::resolve(std::string_view reference) const {
  const std::string base_text = text();
  const auto base = urls::parse_uri(base_text);
  const auto parsed =
      urls::parse_uri_reference(urls::string_view(reference.data(), reference.size()));
  if (!base || !parsed || reference.size() > kUrlBytesMax)
    throw UrlError("\"" + without_secrets(reference) + "\" is not an address");
  urls::url out;
  const auto resolved = urls::resolve(*base, *parsed, out);
  if (!resolved) throw UrlError("\"" + without_secrets(reference) + "\" leads nowhere");
  return from(out, reference);
}

}  // namespace berth::http
