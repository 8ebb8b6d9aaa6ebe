#include "plugins/daytona/config.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "berth/outcome.hpp"

namespace berth::daytona {
namespace {

constexpr std::string_view kApi = "https://app.daytona.io/api";

std::string trimmed(std::string text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string variable(const Host& host, std::string_view name) {
  return trimmed(host.secret(name).value_or(""));
}

std::string member(const boost::json::object& config, std::string_view key) {
  const auto* value = config.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::chrono::milliseconds milliseconds_of(const boost::json::object& config, std::string_view key,
                                          std::chrono::milliseconds otherwise) {
  const auto* value = config.if_contains(key);
  return value != nullptr && value->is_int64() ? std::chrono::milliseconds(value->get_int64())
                                               : otherwise;
}

}  // namespace

bool is_image(std::string_view image) {
  return image.find_first_of(":/@") != std::string_view::npos;
}

void require_image(std::string_view image) {
  const bool plain = std::all_of(image.begin(), image.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._/:@-+").find(c) != std::string_view::npos;
  });
  if (!plain)
    throw Failure::rejected(Code::kInvalidArgument,
                            "the image is neither the name of a snapshot nor a reference");
}

Scope Settings::scope_of(const std::string& recorded_organization) const {
  return {{"organization", recorded_organization},
          {"endpoint", api.text()},
          {"credential", http::fingerprint(api_key)}};
}

Settings read_settings(const Host& host, std::string_view config_json) {
  boost::system::error_code wrong;
  const auto parsed =
      boost::json::parse(boost::json::string_view(config_json.data(), config_json.size()), wrong);
  const boost::json::object config =
      !wrong && parsed.is_object() ? parsed.get_object() : boost::json::object();
  Settings out;
  out.api_key = http::Secret(variable(host, "DAYTONA_API_KEY"));
  out.organization = variable(host, "DAYTONA_ORGANIZATION_ID");
  if (out.api_key.empty() || out.organization.empty())
    throw Failure::rejected(Code::kUnauthenticated,
                            "DAYTONA_API_KEY and DAYTONA_ORGANIZATION_ID are required.");
  std::string api = member(config, "apiUrl");
  if (api.empty()) api = variable(host, "DAYTONA_API_URL");
  if (api.empty()) api = kApi;
  while (api.ends_with('/')) api.pop_back();
  out.target = member(config, "target");
  if (out.target.empty()) out.target = variable(host, "DAYTONA_TARGET");
  out.snapshot = member(config, "snapshot");
  require_image(out.snapshot);
  out.trust_file = member(config, "caFile");
  out.poll_first = milliseconds_of(config, "pollFirstMs", out.poll_first);
  out.poll_most = milliseconds_of(config, "pollMostMs", out.poll_most);
  try {
    out.api = http::Url::parse(api);
    out.proxy = http::ProxySettings(variable(host, "HTTPS_PROXY"), variable(host, "NO_PROXY"));
  } catch (const http::UrlError& error) {
    throw Failure::rejected(Code::kInvalidArgument, error.what());
  }
  if (!out.api.query.empty())
    throw Failure::rejected(Code::kInvalidArgument, "the address of the api has a query");
  return out;
}

}  // namespace berth::daytona
