// Where the provider finds its service, and with which credential.
#ifndef BERTH_PLUGINS_DAYTONA_CONFIG_H_
#define BERTH_PLUGINS_DAYTONA_CONFIG_H_

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "berth/host.hpp"
#include "berth/values.hpp"
#include "plugins/http/client.h"
#include "plugins/http/secret.h"
#include "plugins/http/url.h"

namespace berth::daytona {

struct Settings {
  http::Secret api_key;
  std::string organization;
  http::Url api;         // with the path /api
  std::string target;    // the region; empty: the organization's default
  std::string snapshot;  // what sandboxes without an image are made of; empty: the default
  std::string trust_file;
  http::ProxySettings proxy;
  std::chrono::milliseconds poll_first{50};  // between two looks, growing to the second
  std::chrono::milliseconds poll_most{1000};

  // Longer and longer between two looks.
  std::chrono::milliseconds next_pause(std::chrono::milliseconds pause) const {
    return std::min(pause + pause / 2 + std::chrono::milliseconds(1), poll_most);
  }

  // The provider's scope, in the order of the manifest.
  Scope scope() const { return scope_of(organization); }
  // The same for what the service says a sandbox belongs to.
  Scope scope_of(const std::string& recorded_organization) const;
};

// A name is a snapshot; a reference (with a tag, a digest or a registry) is an image to build from.
bool is_image(std::string_view image);
// Throws Failure::rejected for what is neither.
void require_image(std::string_view image);

// From the variables and the configuration the host gives. Throws Failure::rejected.
Settings read_settings(const Host& host, std::string_view config_json);

}  // namespace berth::daytona

#endif  // BERTH_PLUGINS_DAYTONA_CONFIG_H_
