#include "core/registry/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "core/base/json.h"
#include "core/os/fd.h"
#include "core/registry/config_schema.h"

namespace berth::registry {
namespace {

namespace json = boost::json;

Status only(const json::object& object, std::string_view path,
            std::initializer_list<std::string_view> known) {
  for (const auto& member : object)
    if (std::find(known.begin(), known.end(), std::string_view(member.key())) == known.end())
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("{}.{} is not a setting; there are {}", path,
                              std::string_view(member.key()), fmt::join(known, ", ")));
  return {};
}

Result<bool> flag(const json::object& object, std::string_view key, std::string_view path,
                  bool otherwise) {
  if (!object.contains(key)) return otherwise;
  return json_bool(object, key, path);
}

Result<std::vector<std::string>> words(const json::object& object, std::string_view key,
                                       std::string_view path) {
  BERTH_TRY(const json::array* list, json_array(object, key, path));
  std::vector<std::string> out;
  for (const json::value& item : *list) {
    if (!item.is_string())
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("{}.{} must be a list of texts", path, key));
    out.emplace_back(item.get_string());
  }
  return out;
}

Result<ProviderConfiguration> parse_provider(const json::object& object, const std::string& path) {
  BERTH_CHECK_OK(only(object, path,
                      {"enabled", "hosting", "grants", "acceptMissingLayers", "file", "config"}));
  ProviderConfiguration out;
  BERTH_TRY(out.enabled, flag(object, "enabled", path, true));
  if (object.contains("hosting")) {
    BERTH_TRY(const std::string hosting, json_string(object, "hosting", path));
    if (hosting != "worker" && hosting != "in-process")
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("{}.hosting must be \"worker\" or \"in-process\"", path));
    out.hosting = hosting == "worker" ? Hosting::kWorker : Hosting::kInProcess;
  }
  if (object.contains("grants")) {
    BERTH_TRY(out.grants, words(object, "grants", path));
  }
  if (object.contains("acceptMissingLayers")) {
    BERTH_TRY(out.accepted_missing_layers, words(object, "acceptMissingLayers", path));
  }
  if (object.contains("file")) {
    BERTH_TRY(const std::string file, json_string(object, "file", path));
    out.file = file;
    if (!out.file.is_absolute())
      return fail(ErrorKind::kInvalidArgument, fmt::format("{}.file must be absolute", path));
  }
  if (object.contains("config")) {
    BERTH_TRY(const json::object* config, json_object(object, "config", path));
    out.config = *config;
  }
  return out;
}

}  // namespace

bool ProviderConfiguration::grants_capability(std::string_view capability) const {
  return !grants || std::find(grants->begin(), grants->end(), capability) != grants->end();
}

ProviderConfiguration HostConfiguration::of(std::string_view id) const {
  const auto found = providers.find(id);
  return found == providers.end() ? ProviderConfiguration{} : found->second;
}

Result<HostConfiguration> parse_configuration(std::string_view text) {
  BERTH_TRY(const json::value document, parse_json(text));
  const auto* object = document.if_object();
  if (object == nullptr)
    return fail(ErrorKind::kInvalidArgument, "the host configuration must be a json object");
  BERTH_CHECK_OK(only(*object, "configuration",
                      {"providers", "requireLock", "requireSignature", "trustedKeys"}));
  HostConfiguration out;
  BERTH_TRY(out.require_lock, flag(*object, "requireLock", "configuration", false));
  BERTH_TRY(out.require_signature, flag(*object, "requireSignature", "configuration", false));
  if (object->contains("trustedKeys")) {
    BERTH_TRY(const json::object* keys, json_object(*object, "trustedKeys", "configuration"));
    for (const auto& member : *keys) {
      BERTH_TRY(std::string key, json_string(*keys, member.key(), "configuration.trustedKeys"));
      out.trusted_keys.emplace(member.key(), std::move(key));
    }
  }
  if (!object->contains("providers")) return out;
  BERTH_TRY(const json::object* providers, json_object(*object, "providers", "configuration"));
  for (const auto& member : *providers) {
    const std::string path =
        fmt::format("configuration.providers.{}", std::string_view(member.key()));
    BERTH_TRY(const json::object* one,
              json_object(*providers, member.key(), "configuration.providers"));
    BERTH_TRY(ProviderConfiguration provider, parse_provider(*one, path));
    out.providers.emplace(member.key(), std::move(provider));
  }
  return out;
}

Result<HostConfiguration> load_configuration(const std::filesystem::path& file) {
  const auto text = os::read_file(file, std::size_t{1} << 20);
  if (!text && text.error().kind() == ErrorKind::kNotFound) return HostConfiguration{};
  if (!text) return fail(text.error());
  auto parsed = parse_configuration(*text);
  if (!parsed) return fail(parsed.error().with(file.string()));
  return parsed;
}

Result<std::string> open_configuration(const Manifest& manifest,
                                       const ProviderConfiguration& configuration) {
  json::object config = configuration.config;
  if (!configuration.accepted_missing_layers.empty()) {
    json::array layers;
    if (const auto* given = config.if_contains("acceptMissingLayers"); given && given->is_array())
      layers = given->get_array();
    for (const std::string& layer : configuration.accepted_missing_layers)
      if (std::find(layers.begin(), layers.end(), json::value(layer)) == layers.end())
        layers.emplace_back(layer);
    config["acceptMissingLayers"] = std::move(layers);
  }
  if (manifest.config_schema.empty() && !config.empty())
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("provider {} takes no configuration, but the host's sets {}",
                            manifest.id, std::string_view(config.begin()->key())));
  const auto faults = schema_faults(manifest.config_schema, config, "config");
  if (!faults.empty())
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("the configuration of provider {} does not fit its schema: {}",
                            manifest.id, fmt::join(faults, "; ")));
  return canonical_json(config);
}

}  // namespace berth::registry
