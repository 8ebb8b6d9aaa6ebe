// Where the provider finds its service, for whom, and what it makes sandboxes of.
#ifndef BERTH_PLUGINS_VERCEL_CONFIG_H_
#define BERTH_PLUGINS_VERCEL_CONFIG_H_

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "berth/host.hpp"
#include "berth/values.hpp"
#include "plugins/http/client.h"
#include "plugins/http/url.h"
#include "plugins/vercel/identity.h"

namespace berth::vercel {

struct Settings {
  Identity identity;
  http::Url api;       // with the path /api
  std::string region;  // empty: the service's default
  std::string image_python = "vercel/sandbox/python:3.14";
  std::string image_javascript = "vercel/sandbox/node:22";
  std::string image_both = "vercel/sandbox/universal";
  std::string trust_file;
  http::ProxySettings proxy;
  std::chrono::milliseconds poll_first{100};  // between two looks, growing to the second
  std::chrono::milliseconds poll_most{1000};

  // Longer and longer between two looks.
  std::chrono::milliseconds next_pause(std::chrono::milliseconds pause) const {
    return std::min(pause + pause / 2 + std::chrono::milliseconds(1), poll_most);
  }
  const std::string& image_for(const std::vector<std::string_view>& languages) const;

  // The provider's scope, in the order of the manifest.
  Scope scope() const { return scope_of({}); }
  // The same for the project the service names; empty: it named none.
  Scope scope_of(std::string_view recorded_project) const;
};

// From the variables and the configuration the host gives. Throws Failure::rejected.
Settings read_settings(const Host& host, std::string_view config_json);

// A reference of an image that may be sent.
bool is_image(std::string_view reference);

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_CONFIG_H_
