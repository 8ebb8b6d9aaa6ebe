// The provider's configuration: the JSON keys of its manifest, as values.
#ifndef BERTH_PLUGINS_LOCAL_CONFIG_H_
#define BERTH_PLUGINS_LOCAL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/host.hpp"
#include "sandbox.h"

namespace berth::local {

// What is made ahead. Where nothing is configured, a template and ready sandboxes once a process makes
// its third.
enum class StartupChoice { kAutomatic, kCold, kWarm, kTemplate };

struct Config {
  std::uint32_t accepted_missing = 0;  // bits of Layer
  // Bits of Layer to leave out although they work here, so that a test can show what each stops. No key
  // sets it, and the helper a provider carries refuses to leave out what is not acceptable.
  std::uint32_t left_out = 0;
  std::string cgroup_parent;           // inside every hierarchy; empty: where this process is
  std::uint32_t identity_base = 0;
  std::uint32_t identity_count = 0;
  std::uint64_t output_kill_bytes = 0;
  StartupChoice startup = StartupChoice::kAutomatic;
  // Of which interpreters there may be a template.
  bool templates[kInterpreterCount] = {true, true};
  // When fewer sandboxes than this wait ready, they are made until there are as many as that.
  std::uint32_t ready_least = 0;
  std::uint32_t ready_most = 0;
  EffectiveLimits limits;
};

// What holds where the host configures nothing.
Config default_config();

// Throws Failure (rejected) naming the key that does not fit.
Config read_config(const Host& host);

// The layer of this name, if it is one whose absence may be accepted.
std::optional<Layer> acceptable_layer(std::string_view name);

std::string layer_names(std::uint32_t layers);

// The small part of JSON the keys need. Nothing when the text is something else.
std::optional<std::string> json_string(std::string_view text);
std::optional<std::uint64_t> json_number(std::string_view text);
std::optional<std::vector<std::string>> json_strings(std::string_view text);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_CONFIG_H_
