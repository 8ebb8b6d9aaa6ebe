#include "core/execution/install/package_index.h"

#include <fmt/format.h>

#include <cstddef>

#include "core/execution/install/url.h"

namespace berth {
namespace {

constexpr std::size_t kListMax = 32;

Status check_url(std::string_view key, std::string_view text) {
  const auto url = install::parse_url(text);
  if (!url) return fail(url.error().with(key));
  return {};
}

Status check_host(std::string_view key, const std::string& host) {
  const auto url = install::parse_url("https://" + host);
  if (!url || !url->credentials.empty() || url->target != "/") {
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("{}: \"{}\" is neither a host nor host:port", key, host));
  }
  return {};
}

}  // namespace

bool PackageIndex::any() const {
  if (!find_links.empty()) return true;
  return !no_index && (!index_url.empty() || !extra_index_urls.empty());
}

Status validate(const PackageIndex& index) {
  if (!index.index_url.empty()) BERTH_CHECK_OK(check_url("indexUrl", index.index_url));
  if (index.extra_index_urls.size() > kListMax || index.find_links.size() > kListMax ||
      index.file_hosts.size() > kListMax || index.trusted_hosts.size() > kListMax) {
    return fail(ErrorKind::kInvalidArgument, fmt::format("a list has more than {} entries", kListMax));
  }
  for (const std::string& url : index.extra_index_urls) BERTH_CHECK_OK(check_url("extraIndexUrls", url));
  for (const std::string& link : index.find_links) {
    if (!link.empty() && link.front() == '/') continue;
    BERTH_CHECK_OK(check_url("findLinks (neither an absolute folder nor a page)", link));
  }
  for (const std::string& host : index.file_hosts) BERTH_CHECK_OK(check_host("fileHosts", host));
  for (const std::string& host : index.trusted_hosts) BERTH_CHECK_OK(check_host("trustedHosts", host));
  if (!index.certificates.empty() && !index.certificates.is_absolute()) {
    return fail(ErrorKind::kInvalidArgument, "certificates: is not an absolute path");
  }
  return {};
}

}  // namespace berth
