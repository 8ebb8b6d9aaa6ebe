#include "plugins/http/proxy.h"

#include <openssl/evp.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

namespace berth::http {
namespace {

namespace urls = boost::urls;
namespace ip = boost::asio::ip;

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string trimmed_lower(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool in_network(const std::string& range, const ip::address& address) {
  boost::system::error_code wrong;
  if (address.is_v4()) {
    const auto network = ip::make_network_v4(range, wrong);
    if (wrong) return false;
    const auto mask = network.netmask().to_uint();
    return (address.to_v4().to_uint() & mask) == (network.address().to_uint() & mask);
  }
  const auto network = ip::make_network_v6(range, wrong);
  if (wrong) return false;
  const auto a = address.to_v6().to_bytes(), b = network.address().to_bytes();
  int bits = network.prefix_length();
  for (std::size_t i = 0; i < a.size() && bits > 0; ++i, bits -= 8) {
    const auto mask = static_cast<unsigned char>(bits >= 8 ? 0xff : 0xff << (8 - bits));
    if ((a[i] & mask) != (b[i] & mask)) return false;
  }
  return true;
}

// Takes ":443" off, where there is one; an IPv6 address keeps its colons.
std::optional<std::uint16_t> take_port(std::string& pattern) {
  const auto colon = pattern.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const bool bracketed = colon != 0 && pattern[colon - 1] == ']';
  if (!bracketed && pattern.find(':') != colon) return std::nullopt;
  const std::uint16_t port = port_of(std::string_view(pattern).substr(colon + 1));
  if (port == 0) return std::nullopt;
  pattern.resize(colon);
  return port;
}

bool matches(std::string pattern, const Origin& origin) {
  if (pattern == "*") return true;
  if (const auto port = take_port(pattern); port && *port != origin.port) return false;
  if (pattern.starts_with('[') && pattern.ends_with(']'))
    pattern = pattern.substr(1, pattern.size() - 2);
  boost::system::error_code wrong;
  const auto address = ip::make_address(origin.host, wrong);
  if (!wrong) {
    if (pattern.find('/') != std::string::npos) return in_network(pattern, address);
    const auto other = ip::make_address(pattern, wrong);
    return !wrong && other == address;
  }
  if (pattern.starts_with("*.")) pattern.erase(0, 1);
  if (pattern.starts_with('.')) pattern.erase(0, 1);
  if (pattern.empty()) return false;
  if (origin.host == pattern) return true;
  return origin.host.size() > pattern.size() && origin.host.ends_with(pattern) &&
         origin.host[origin.host.size() - pattern.size() - 1] == '.';
}

Proxy parse_proxy(std::string_view text) {
  // "host:port" without a scheme is common.
  const std::string whole = text.find("://") == std::string_view::npos
                                ? "http://" + std::string(text)
                                : std::string(text);
  const auto parsed = urls::parse_uri(whole);
  if (!parsed || parsed->encoded_host_address().empty())
    throw UrlError("HTTPS_PROXY is not an address such as http://proxy.example:3128");
  const std::string scheme = trimmed_lower(std::string_view(parsed->scheme()));
  if (scheme != "http" && scheme != "https")
    throw UrlError(
        "HTTPS_PROXY must begin with http:// or https://: other kinds of proxies are not spoken to");
  Proxy proxy;
  proxy.tls = scheme == "https";
  proxy.host = trimmed_lower(std::string_view(parsed->encoded_host_address()));
  const std::string_view port(parsed->port().data(), parsed->port().size());
  proxy.port = port.empty() ? (proxy.tls ? 443 : 80) : port_of(port);
  if (proxy.port == 0) throw UrlError("HTTPS_PROXY has no usable port");
  if (parsed->has_userinfo()) {
    std::string pair = parsed->user() + ":" + parsed->password();
    proxy.authorization = Secret("Basic " + base64(pair));
    wipe(pair);
  }
  return proxy;
}

}  // namespace

ProxySettings::ProxySettings(std::string_view https_proxy, std::string_view no_proxy) {
  if (https_proxy.empty()) return;
  proxy_ = parse_proxy(https_proxy);
  while (!no_proxy.empty()) {
    const auto end = std::min(no_proxy.find(','), no_proxy.size());
    if (auto pattern = trimmed_lower(no_proxy.substr(0, end)); !pattern.empty())
      exceptions_.push_back(std::move(pattern));
    no_proxy.remove_prefix(std::min(end + 1, no_proxy.size()));
  }
}

const Proxy* ProxySettings::for_origin(const Origin& origin) const {
  if (!proxy_) return nullptr;
  const bool excepted = std::any_of(exceptions_.begin(), exceptions_.end(),
                                    [&](const std::string& each) { return matches(each, origin); });
  return excepted ? nullptr : &*proxy_;
}

}  // namespace berth::http
