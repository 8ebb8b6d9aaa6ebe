// Addresses of services: https only, without credentials in them.
//
// Values; any thread. What cannot be parsed throws UrlError, whose sentence repeats no query and no
// user part, since both may hold secrets.
#ifndef BERTH_PLUGINS_HTTP_URL_H_
#define BERTH_PLUGINS_HTTP_URL_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth::http {

class UrlError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Who is spoken to: connections are shared, and credentials sent, within one origin only.
struct Origin {
  std::string host;  // lower case; an IPv6 address without its brackets
  std::uint16_t port = 443;

  bool operator==(const Origin&) const = default;
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  // "host:port"; an IPv6 address in brackets.
  std::string authority() const;
  // The same without the port where it is the usual one: the value of a Host header.
  std::string host_header() const;
};

struct Url {
  Origin origin;
  std::string path = "/";  // percent-encoded, begins with a slash
  std::string query;       // percent-encoded, without the question mark

  static Url parse(std::string_view text);

  std::string target() const { return query.empty() ? path : path + "?" + query; }
  // For people: without the query.
  std::string shown() const { return "https://" + origin.host_header() + path; }
  std::string text() const { return "https://" + origin.host_header() + target(); }

  // This address with `/segment` appended to its path, percent-encoded: a slash in it stays inside
  // the segment.
  Url operator/(std::string_view segment) const;
  // The same with `more` appended as it is; it begins with a slash.
  Url with_path(std::string_view more) const;
  Url with_query(std::string_view key, std::string_view value) const;
  // What a reference in a Location header means here.
  Url resolve(std::string_view reference) const;
};

// The port that the digits say; 0: none.
std::uint16_t port_of(std::string_view digits);

// Everything but letters, digits and "-._~".
std::string percent_encode(std::string_view text);

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_URL_H_
