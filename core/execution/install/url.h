// The few URLs an install has to do with: http and https, with a host and a path.
#ifndef BERTH_CORE_EXECUTION_INSTALL_URL_H_
#define BERTH_CORE_EXECUTION_INSTALL_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace berth::install {

struct Url {
  bool https = false;
  std::string host;         // lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string target;       // path and query as they are sent; begins with '/'
  std::string fragment;     // without '#'
  std::string credentials;  // "user:password", decoded; empty: none. Never shown

  // "host:port", what a policy is about.
  std::string origin() const;
  // For people: without credentials, query and fragment.
  std::string display() const;
  // The last segment of the path.
  std::string_view file_name() const;
};

// Errors never repeat the text, which may carry a password.
Result<Url> parse_url(std::string_view text);
// What `reference`, found on the page `base`, leads to. Credentials are not inherited.
Result<Url> resolve(const Url& base, std::string_view reference);

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_URL_H_
