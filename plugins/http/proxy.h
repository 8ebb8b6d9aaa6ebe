// Which requests go through a proxy.
//
// Values; any thread.
#ifndef BERTH_PLUGINS_HTTP_PROXY_H_
#define BERTH_PLUGINS_HTTP_PROXY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/http/secret.h"
#include "plugins/http/url.h"

namespace berth::http {

// A proxy that is asked to CONNECT; what passes through is TLS all the same.
struct Proxy {
  std::string host;
  std::uint16_t port = 0;
  bool tls = false;      // it is spoken to over TLS, with verification, too
  Secret authorization;  // of a Proxy-Authorization field; empty: none

  std::string shown() const { return host + ":" + std::to_string(port); }
};

class ProxySettings {
 public:
  ProxySettings() = default;
  // The values of HTTPS_PROXY ("http[s]://[user:password@]host[:port]") and NO_PROXY (comma-separated
  // host names, domains with or without a leading dot, addresses, CIDR ranges, each with or without
  // a port; "*" for all). Throws UrlError, without repeating the value.
  ProxySettings(std::string_view https_proxy, std::string_view no_proxy);

  // The proxy for an origin; nullptr: none.
  const Proxy* for_origin(const Origin& origin) const;
  const std::optional<Proxy>& proxy() const { return proxy_; }

 private:
  std::optional<Proxy> proxy_;
  std::vector<std::string> exceptions_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_PROXY_H_
