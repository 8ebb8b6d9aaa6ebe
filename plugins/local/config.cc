#include "config.h"

#include <algorithm>
#include <charconv>

namespace berth::local {
namespace {

constexpr std::size_t kListMaxItems = 64;

constexpr std::uint64_t kMebibyte = 1u << 20;

void skip_space(std::string_view* text) {
  while (!text->empty() && (text->front() == ' ' || text->front() == '\n' ||
                            text->front() == '\t' || text->front() == '\r')) {
    text->remove_prefix(1);
  }
}

bool take(std::string_view* text, char wanted) {
  skip_space(text);
  if (text->empty() || text->front() != wanted) return false;
  text->remove_prefix(1);
  return true;
}

// Names and paths need no escapes but these; anything else is refused.
std::optional<std::string> take_string(std::string_view* text) {
  if (!take(text, '"')) return std::nullopt;
  std::string value;
  while (!text->empty()) {
    char c = text->front();
    text->remove_prefix(1);
    if (c == '"') return value;
    if (c == '\\') {
      if (text->empty()) return std::nullopt;
      c = text->front();
      text->remove_prefix(1);
      if (c != '"' && c != '\\' && c != '/') return std::nullopt;
    }
    value.push_back(c);
  }
  return std::nullopt;
}

bool at_end(std::string_view text) {
  skip_space(&text);
  return text.empty();
}

Failure wrong(std::string_view key, std::string_view why) {
  return Failure::rejected(Code::kInvalidArgument, "the configuration key " + std::string(key) +
                                                       " of the local provider " + std::string(why));
}

StartupChoice startup_choice(std::string_view name) {
  if (name == "automatic") return StartupChoice::kAutomatic;
  if (name == "cold") return StartupChoice::kCold;
  if (name == "warm") return StartupChoice::kWarm;
  if (name == "template") return StartupChoice::kTemplate;
  throw wrong("startup", "is not one of automatic, cold, warm and template");
}

std::optional<Interpreter> interpreter_of(std::string_view language) {
  for (const Interpreter one : kInterpreters) {
    if (language == language_name(one)) return one;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const Host& host) : host_(host) {}

  std::uint64_t number(std::string_view key, std::uint64_t fallback, std::uint64_t least,
                       std::uint64_t most) const {
    const auto text = host_.config(key);
    if (!text) return fallback;
    const auto value = json_number(*text);
    if (!value || *value < least || *value > most) {
      throw wrong(key, "is not a number from " + std::to_string(least) + " to " +
                           std::to_string(most));
    }
    return *value;
  }

  std::string string(std::string_view key, std::string fallback) const {
    const auto text = host_.config(key);
    if (!text) return fallback;
    const auto value = json_string(*text);
    if (!value) throw wrong(key, "is not a plain string");
    return *value;
  }

  std::vector<std::string> strings(std::string_view key) const {
    const auto text = host_.config(key);
    if (!text) return {};
    const auto value = json_strings(*text);
    if (!value) throw wrong(key, "is not a list of plain strings");
    return *value;
  }

 private:
  const Host& host_;
};

}  // namespace

std::optional<std::string> json_string(std::string_view text) {
  auto value = take_string(&text);
  if (!value || !at_end(text)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> json_number(std::string_view text) {
  skip_space(&text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!at_end(text)) return std::nullopt;
  return value;
}

std::optional<std::vector<std::string>> json_strings(std::string_view text) {
  if (!take(&text, '[')) return std::nullopt;
  std::vector<std::string> values;
  if (take(&text, ']')) return at_end(text) ? std::optional(values) : std::nullopt;
  while (values.size() < kListMaxItems) {
    auto value = take_string(&text);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
    if (take(&text, ']')) return at_end(text) ? std::optional(values) : std::nullopt;
    if (!take(&text, ',')) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Layer> acceptable_layer(std::string_view name) {
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (name == layer_name(layer) && (kAcceptableLayers & bit(layer)) != 0) return layer;
  }
  return std::nullopt;
}

std::string layer_names(std::uint32_t layers) {
  std::string text;
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if ((layers & bit(layer)) == 0) continue;
    if (!text.empty()) text.push_back(',');
    text += layer_name(layer);
  }
  return text;
}

Config default_config() {
  Config config;
  config.identity_base = 1'879'048'192;  // far above what accounts and containers use
  config.identity_count = 4096;
  config.output_kill_bytes = std::uint64_t{8} << 30;
  config.ready_least = 2;
  config.ready_most = 4;
  config.limits.memory_bytes = 1024 * kMebibyte;
  config.limits.disk_bytes = 512 * kMebibyte;
  config.limits.processes = 256;
  config.limits.open_files = 1024;
  config.limits.cpu_millis = 1000;
  return config;
}

Config read_config(const Host& host) {
  constexpr std::uint64_t kTebibyte = std::uint64_t{1} << 40;
  const Reader reader(host);
  Config config = default_config();
  for (const std::string& name : reader.strings("acceptMissingLayers")) {
    const auto layer = acceptable_layer(name);
    if (!layer) {
      throw wrong("acceptMissingLayers", "names '" + name + "', which no sandbox can do without");
    }
    config.accepted_missing |= bit(*layer);
  }
  config.cgroup_parent = reader.string("cgroupParent", "");
  if (!config.cgroup_parent.empty() &&
      (config.cgroup_parent.front() != '/' || config.cgroup_parent.find("..") != std::string::npos)) {
    throw wrong("cgroupParent", "is not an absolute path inside the hierarchies");
  }
  const auto number32 = [&](std::string_view key, std::uint32_t* value, std::uint64_t least,
                            std::uint64_t most) {
    *value = static_cast<std::uint32_t>(reader.number(key, *value, least, most));
  };
  const auto number64 = [&](std::string_view key, std::uint64_t* value, std::uint64_t least) {
    *value = reader.number(key, *value, least, kTebibyte);
  };
  number32("identityBase", &config.identity_base, 65'536, 4'000'000'000);
  number32("identityCount", &config.identity_count, 1, 65'536);
  config.startup = startup_choice(reader.string("startup", "automatic"));
  if (host.config("templates")) {
    for (bool& one : config.templates) one = false;
    for (const std::string& language : reader.strings("templates")) {
      const auto interpreter = interpreter_of(language);
      if (!interpreter) throw wrong("templates", "names '" + language + "', not python or javascript");
      config.templates[index_of(*interpreter)] = true;
    }
  }
  number32("readyLeast", &config.ready_least, 0, 1000);
  number32("readyMost", &config.ready_most, 0, 1000);
  config.ready_most = std::max(config.ready_most, config.ready_least);
  number64("outputKillBytes", &config.output_kill_bytes, 0);
  number64("memoryBytes", &config.limits.memory_bytes, 16 * kMebibyte);
  number64("diskBytes", &config.limits.disk_bytes, kMebibyte);
  number32("processes", &config.limits.processes, 1, 100'000);
  number32("openFiles", &config.limits.open_files, 16, 1'000'000);
  number32("cpuMillis", &config.limits.cpu_millis, 10, 1'024'000);
  return config;
}

}  // namespace berth::local
