#include "plugins/vercel/config.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "berth/outcome.hpp"
#include "plugins/vercel/model.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;

constexpr std::string_view kApi = "https://vercel.com/api";
constexpr std::size_t kImageBytesMax = 512;

// The configuration goes before the variable, and that before what is built in.
void choose(std::string& into, const json::object& config, std::string_view key, const Host& host,
            std::string_view name) {
  std::string chosen = text_of(config, key);
  if (chosen.empty()) chosen = variable(host, name);
  if (!chosen.empty()) into = std::move(chosen);
}

void choose_milliseconds(std::chrono::milliseconds& into, const json::object& config,
                         std::string_view key) {
  const std::uint64_t chosen = number_of(config, key);
  if (chosen != 0) into = std::chrono::milliseconds(chosen);
}

void require_image(const std::string& image, std::string_view what) {
  if (is_image(image)) return;
  throw Failure::rejected(Code::kInvalidArgument,
                          std::string(what) + " is not a reference of an image");
}

bool is_project_id(std::string_view project) { return project.starts_with("prj_"); }

}  // namespace

bool is_image(std::string_view reference) {
  const bool plain = std::all_of(reference.begin(), reference.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._/:@-+").find(c) != std::string_view::npos;
  });
  return plain && !reference.empty() && reference.size() <= kImageBytesMax;
}

const std::string& Settings::image_for(const std::vector<std::string_view>& languages) const {
  const auto wants = [&](std::string_view language) {
    return std::find(languages.begin(), languages.end(), language) != languages.end();
  };
  if (wants("python") && !wants("javascript")) return image_python;
  if (wants("javascript") && !wants("python")) return image_javascript;
  return image_both;
}

Scope Settings::scope_of(std::string_view recorded_project) const {
  // A project may be configured by its name, and is then only known by it.
  const bool recorded = is_project_id(identity.project) && !recorded_project.empty();
  return {{"team", identity.team},
          {"project", recorded ? std::string(recorded_project) : identity.project},
          {"endpoint", api.text()},
          {"credential", identity.fingerprint}};
}

Settings read_settings(const Host& host, std::string_view config_json) {
  boost::system::error_code wrong;
  const auto parsed = json::parse(json::string_view(config_json.data(), config_json.size()), wrong);
  const json::object config = !wrong && parsed.is_object() ? parsed.get_object() : json::object();
  Settings out;
  out.identity = read_identity(host);
  std::string api(kApi);
  choose(api, config, "apiUrl", host, "VERCEL_SANDBOX_API_URL");
  while (api.ends_with('/')) api.pop_back();
  choose(out.image_python, config, "imagePython", host, "VERCEL_SANDBOX_IMAGE_PYTHON");
  choose(out.image_javascript, config, "imageJavascript", host, "VERCEL_SANDBOX_IMAGE_JAVASCRIPT");
  if (const std::string both = text_of(config, "imageBoth"); !both.empty()) out.image_both = both;
  require_image(out.image_python, "imagePython (VERCEL_SANDBOX_IMAGE_PYTHON)");
  require_image(out.image_javascript, "imageJavascript (VERCEL_SANDBOX_IMAGE_JAVASCRIPT)");
  require_image(out.image_both, "imageBoth");
  out.region = text_of(config, "region");
  out.trust_file = text_of(config, "caFile");
  choose_milliseconds(out.poll_first, config, "pollFirstMs");
  choose_milliseconds(out.poll_most, config, "pollMostMs");
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

}  // namespace berth::vercel
