// Long because a manifest is one document: each field has its rule here, and they are read together.
#include "core/registry/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "core/base/json.h"
#include "core/registry/clauses.h"
#include "core/registry/json_words.h"
#include "core/registry/lifetime_step.h"

namespace berth::registry {
namespace {

namespace json = boost::json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kCapabilities{{
    {"files.session", "berth.files/1"},
    {"process", "berth.process/1"},
    {"interpreter", "berth.interpreter/1"},
    {"resume", "berth.session/1"},
    {"standby", "berth.standby/1"},
    {"checkpoint", "berth.checkpoint/1"},
    {"snapshot", "berth.snapshot/1"},
    {"network.policy", "berth.network/1"},
    {"network.broker", "berth.network/1"},
    {"ports", "berth.ports/1"},
    {"volumes", "berth.volumes/1"},
    {"gpu", ""},
    {"images", ""},
    {"resources", ""},
}};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class First, class Rest>
bool matches(std::string_view text, First first, Rest rest) {
  return !text.empty() && first(text[0]) && std::all_of(text.begin() + 1, text.end(), rest);
}

bool is_word(std::string_view text) {
  return matches(text, is_lower, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}
bool is_variable(std::string_view text) {
  return matches(text, [](char c) { return is_upper(c) || c == '_'; },
                 [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}
bool is_camel_name(std::string_view text) {
  return matches(text, is_lower, [](char c) { return is_lower(c) || is_upper(c) || is_digit(c); });
}
bool is_language(std::string_view text) {
  return matches(text, is_lower, [](char c) {
    return is_lower(c) || is_digit(c) || c == '+' || c == '-';
  });
}

bool is_positive_number(std::string_view text) {
  return !text.empty() && text[0] != '0' && std::all_of(text.begin(), text.end(), is_digit);
}

// "berth.files/1": dotted words, a slash, a revision.
bool is_extension_id(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_positive_number(text.substr(slash + 1))) return false;
  std::string_view stem = text.substr(0, slash);
  std::size_t words = 0;
  for (bool more = true; more; ++words) {
    const std::size_t dot = stem.find('.');
    if (!is_word(stem.substr(0, dot))) return false;
    more = dot != std::string_view::npos;
    if (more) stem.remove_prefix(dot + 1);
  }
  return words >= 2;
}

// The version at the front of `text` up to a dot or the end; false when it is no number.
bool take_number(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  const bool good = size == 1 || (size > 1 && text[0] != '0');
  text.remove_prefix(size);
  return good;
}

bool is_semver(std::string_view text) {
  for (int part = 0; part < 3; ++part) {
    if (part > 0) {
      if (text.empty() || text[0] != '.') return false;
      text.remove_prefix(1);
    }
    if (!take_number(text)) return false;
  }
  for (const char mark : {'-', '+'}) {
    if (text.empty() || text[0] != mark) continue;
    text.remove_prefix(1);
    std::size_t size = 0;
    while (size < text.size() && (is_digit(text[size]) || is_lower(text[size]) ||
                                  is_upper(text[size]) || text[size] == '.' || text[size] == '-'))
      ++size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return text.empty();
}

class Parser {
 public:
  explicit Parser(Findings& findings) : findings_(findings) {}

  std::optional<Manifest> parse(const json::object& document) {
    manifest_.document = document;
    // The kind comes first: of a file of another kind nothing else can be judged.
    const json::value* kind = document.if_contains("kind");
    if (kind != nullptr && kind->is_string() && kind->get_string() != "sandbox") {
      add(clause::kKind, fmt::format("kind {}", shown(*kind)),
          "a host that loads kind \"sandbox\" only",
          "use a host for that kind, or set manifest.kind to \"sandbox\" if it makes sandboxes");
      return std::nullopt;
    }
    expect_constant(document, "kind", json::value("sandbox"), clause::kKind);
    expect_constant(document, "contractVersion", json::value(1), clause::kManifest);
    identity(document);
    abi(document);
    capabilities(document);
    manifest_.extensions = texts(document, "extensions", 64, 128, is_extension_id,
                                 "an extension id such as \"berth.files/1\"", true, 0);
    manifest_.host_extensions = texts(document, "hostExtensions", 64, 128, is_extension_id,
                                      "an extension id such as \"berth.clock/1\"", true, 0);
    environment(document);
    config_schema(document);
    declarations(document);
    concurrency(document);
    lifetime_step(document);
    needs(document);
    unknown_fields(document);
    backing();
    if (refuses(findings_)) return std::nullopt;
    return std::move(manifest_);
  }

 private:
  void add(std::string_view clause_id, std::string claimed, std::string found, std::string remedy,
           Severity severity = Severity::kRefusal) {
    findings_.push_back({severity, std::string(clause_id), std::move(claimed), std::move(found),
                         std::move(remedy)});
  }

  void wrong(std::string_view path, const json::value* value, std::string_view expected,
             std::string_view clause_id = clause::kManifest) {
    add(clause_id, "", fmt::format("manifest.{} is {}", path, value ? shown(*value) : "missing"),
        fmt::format("set manifest.{} to {} and build again", path, expected));
  }

  void expect_constant(const json::object& object, std::string_view key, const json::value& value,
                       std::string_view clause_id) {
    const json::value* found = object.if_contains(key);
    if (found == nullptr || *found != value) wrong(key, found, shown(value), clause_id);
  }

  std::string text(const json::object& object, std::string_view key, std::size_t length_max,
                   bool required, bool (*good)(std::string_view), std::string_view expected) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr && !required) return {};
    if (value == nullptr || !value->is_string()) {
      wrong(key, value, expected);
      return {};
    }
    std::string found(value->get_string());
    const std::size_t length = characters(found);
    if (length == 0 || length > length_max || (good != nullptr && !good(found)))
      wrong(key, value, fmt::format("{}, of 1 to {} characters", expected, length_max));
    return found;
  }

  std::vector<std::string> texts(const json::object& object, std::string_view key,
                                 std::size_t count_max, std::size_t length_max,
                                 bool (*good)(std::string_view), std::string_view expected,
                                 bool required, std::size_t count_min) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr && !required) return {};
    if (value == nullptr || !value->is_array()) {
      wrong(key, value, fmt::format("a list of texts, each {}", expected));
      return {};
    }
    return elements(value->get_array(), key, count_max, length_max, good, expected, count_min);
  }

  std::vector<std::string> elements(const json::array& list, std::string_view path,
                                    std::size_t count_max, std::size_t length_max,
                                    bool (*good)(std::string_view), std::string_view expected,
                                    std::size_t count_min) {
    std::vector<std::string> out;
    if (list.size() > count_max || list.size() < count_min) {
      add(clause::kManifest, "", fmt::format("manifest.{} has {} elements", path, list.size()),
          fmt::format("list {} to {}", count_min, count_max));
      return out;
    }
    std::set<std::string, std::less<>> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      const auto* item = list[i].if_string();
      if (item == nullptr || item->empty() || characters(*item) > length_max ||
          (good != nullptr && !good(*item))) {
        wrong(place, &list[i], expected);
        continue;
      }
      if (!seen.insert(std::string(*item)).second)
        add(clause::kManifest, "", fmt::format("manifest.{} repeats {}", place, shown(list[i])),
            "list each once");
      out.emplace_back(*item);
    }
    return out;
  }

  std::int64_t number(const json::object& object, std::string_view key, std::string_view path,
                      std::int64_t least, std::int64_t most) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_int64() || value->get_int64() < least ||
        value->get_int64() > most) {
      wrong(fmt::format("{}.{}", path, key), value,
            fmt::format("an integer from {} to {}", least, most));
      return least;
    }
    return value->get_int64();
  }

  void only(const json::object& object, std::string_view path,
            std::initializer_list<std::string_view> known) {
    for (const auto& member : object)
      if (std::find(known.begin(), known.end(), std::string_view(member.key())) == known.end())
        add(clause::kManifest, "",
            fmt::format("manifest.{}.{}, which this host does not know", path,
                        std::string_view(member.key())),
            "remove it, or use a host that knows it; it is kept and has no effect",
            Severity::kWarning);
  }

  void identity(const json::object& document) {
    manifest_.id = text(document, "id", 64, true, is_word,
                        "a text of a-z, 0-9 and - that begins with a letter");
    manifest_.version =
        text(document, "version", 64, true, is_semver, "a semantic version such as \"1.2.3\"");
    manifest_.title = text(document, "title", 120, true, nullptr, "a text");
    manifest_.vendor = text(document, "vendor", 120, false, nullptr, "a text");
    manifest_.license = text(document, "license", 120, true, nullptr, "an SPDX expression");
    manifest_.homepage = text(
        document, "homepage", 512, false,
        [](std::string_view url) {
          const std::size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
          return scheme != 0 && url.size() > scheme && url.find(' ') == std::string_view::npos;
        },
        "an http or https address");
  }

  void abi(const json::object& document) {
    const json::value* value = document.if_contains("abi");
    if (value == nullptr || !value->is_object())
      return wrong("abi", value, "an object with major, minor and minorRequired");
    const json::object& object = value->get_object();
    only(object, "abi", {"major", "minor", "minorRequired"});
    manifest_.abi.major = static_cast<std::uint16_t>(number(object, "major", "abi", 0, 65535));
    manifest_.abi.minor = static_cast<std::uint16_t>(number(object, "minor", "abi", 0, 65535));
    manifest_.abi.minor_required =
        static_cast<std::uint16_t>(number(object, "minorRequired", "abi", 0, 65535));
    if (object.contains("major") && manifest_.abi.major != 1)
      wrong("abi.major", object.if_contains("major"), "1", clause::kMajor);
  }

  void capabilities(const json::object& document) {
    const json::value* value = document.if_contains("capabilities");
    if (value == nullptr || !value->is_array())
      return wrong("capabilities", value, "a list of objects with an id; it may be empty");
    const json::array& list = value->get_array();
    if (list.size() > 64)
      return wrong("capabilities", value, "a list of at most 64");
    for (std::size_t i = 0; i < list.size(); ++i)
      capability(list[i], fmt::format("capabilities[{}]", i));
  }

  void capability(const json::value& value, const std::string& path) {
    const auto* object = value.if_object();
    if (object == nullptr) return wrong(path, &value, "an object with an id");
    only(*object, path, {"id", "limits"});
    const json::value* id = object->if_contains("id");
    const bool known =
        id != nullptr && id->is_string() &&
        std::any_of(kCapabilities.begin(), kCapabilities.end(), [&](const auto& capability) {
          return capability.first == std::string_view(id->get_string());
        });
    if (!known) return wrong(path + ".id", id, "the id of a capability of contract version 1");
    CapabilityClaim claim{std::string(id->get_string()), {}};
    if (const json::value* limits = object->if_contains("limits")) {
      if (!good_limits(*limits))
        return wrong(path + ".limits", limits,
                     "an object of at most 32 integers, short texts and booleans with names of "
                     "letters and digits");
      claim.limits = limits->get_object();
    }
    manifest_.capabilities.push_back(std::move(claim));
  }

  static bool good_limits(const json::value& value) {
    const auto* object = value.if_object();
    if (object == nullptr || object->size() > 32) return false;
    return std::all_of(object->begin(), object->end(), [](const auto& member) {
      const auto* words = member.value().if_string();
      const bool good = member.value().is_int64() || member.value().is_bool() ||
                        (words != nullptr && characters(*words) <= 256);
      return good && member.key().size() <= 64 && is_camel_name(member.key());
    });
  }

  void environment(const json::object& document) {
    manifest_.optional_env = texts(document, "optionalEnv", 64, 128, is_variable,
                                   "the name of a variable such as \"EXAMPLE_KEY\"", false, 0);
    const json::value* value = document.if_contains("envRequirements");
    if (value == nullptr) return;
    if (!value->is_array() || value->get_array().size() > 32)
      return wrong("envRequirements", value, "a list of at most 32 objects with options");
    for (std::size_t i = 0; i < value->get_array().size(); ++i)
      requirement(value->get_array()[i], fmt::format("envRequirements[{}]", i));
  }

  void requirement(const json::value& value, const std::string& path) {
    const auto* object = value.if_object();
    if (object == nullptr) return wrong(path, &value, "an object with options");
    only(*object, path, {"description", "options"});
    EnvRequirement requirement;
    if (const json::value* words = object->if_contains("description")) {
      if (!words->is_string() || words->get_string().empty() ||
          characters(words->get_string()) > 500)
        wrong(path + ".description", words, "a text of 1 to 500 characters");
      else
        requirement.description = std::string(words->get_string());
    }
    const json::value* options = object->if_contains("options");
    const auto* list = options == nullptr ? nullptr : options->if_array();
    if (list == nullptr || list->empty() || list->size() > 16)
      return wrong(path + ".options", options, "a list of 1 to 16 lists of variable names");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string place = fmt::format("{}.options[{}]", path, i);
      const auto* names = (*list)[i].if_array();
      if (names == nullptr) {
        wrong(place, &(*list)[i], "a list of variable names");
        continue;
      }
      requirement.options.push_back(
          elements(*names, place, 16, 128, is_variable, "the name of a variable", 1));
    }
    manifest_.env_requirements.push_back(std::move(requirement));
  }

  void config_schema(const json::object& document) {
    const json::value* value = document.if_contains("configSchema");
    if (value == nullptr) return;
    const auto* object = value->if_object();
    const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
    if (type == nullptr || *type != json::value("object"))
      return wrong("configSchema", value, "a JSON Schema whose type is \"object\"");
    manifest_.config_schema = *object;
  }

  void declarations(const json::object& document) {
    manifest_.scope_fields = texts(document, "scopeFields", 16, 64, is_camel_name,
                                   "a field name of letters and digits", true, 1);
    manifest_.languages =
        texts(document, "languages", 16, 32, is_language, "the name of a language", true, 0);
    for (const std::string_view language : {"python", "javascript"}) {
      const auto& all = manifest_.languages;
      if (std::find(all.begin(), all.end(), language) == all.end())
        add(clause::kRequired, fmt::format("languages {}", fmt::join(all, ", ")),
            fmt::format("no \"{}\" among the languages, which contract version 1 requires",
                        language),
            fmt::format("run {} in the sandbox and list it", language));
    }
    expect_constant(document, "cancellation", json::value("terminate"), clause::kRequired);
    expect_constant(document, "cleanup", json::value("durable-allocation"), clause::kRequired);
    manifest_.recovery = choice(document, "recovery", "fence", "manual") == 0 ? Recovery::kFence
                                                                              : Recovery::kManual;
    manifest_.streams = choice(document, "streams", "separate", "combined") == 0
                            ? Streams::kSeparate
                            : Streams::kCombined;
  }

  int choice(const json::object& document, std::string_view key, std::string_view first,
             std::string_view second) {
    const json::value* value = document.if_contains(key);
    if (value != nullptr && *value == json::value(first)) return 0;
    if (value == nullptr || *value != json::value(second))
      wrong(key, value, fmt::format("\"{}\" or \"{}\"", first, second));
    return 1;
  }

  void concurrency(const json::object& document) {
    const json::value* value = document.if_contains("concurrency");
    if (value == nullptr || !value->is_object())
      return wrong("concurrency", value, "an object with perProvider and perSandbox");
    const json::object& object = value->get_object();
    only(object, "concurrency", {"perProvider", "perSandbox"});
    manifest_.concurrency_per_provider =
        static_cast<std::uint32_t>(number(object, "perProvider", "concurrency", 1, 4096));
    manifest_.concurrency_per_sandbox =
        static_cast<std::uint32_t>(number(object, "perSandbox", "concurrency", 1, 4096));
  }

  void lifetime_step(const json::object& document) {
    const json::value* value = document.if_contains("lifetimeStepSeconds");
    if (value == nullptr) return;
    const std::int64_t most = kLifetimeStepMax.count();
    if (!value->is_int64() || value->get_int64() < 1 || value->get_int64() > most)
      wrong("lifetimeStepSeconds", value, fmt::format("an integer from 1 to {}", most));
  }

  void needs(const json::object& document) {
    const json::value* value = document.if_contains("needs");
    if (value == nullptr) return;
    const auto* object = value->if_object();
    if (object == nullptr) return wrong("needs", value, "an object of lists of texts");
    only(*object, "needs", {"kernel", "devices", "binaries"});
    manifest_.needs.kernel = texts(*object, "kernel", 64, 256, nullptr, "a text", false, 0);
    manifest_.needs.devices = texts(*object, "devices", 64, 256, nullptr, "a text", false, 0);
    manifest_.needs.binaries = texts(*object, "binaries", 64, 256, nullptr, "a text", false, 0);
  }

  void unknown_fields(const json::object& document) {
    static constexpr std::string_view kKnown[] = {
        "contractVersion", "kind",         "id",           "version",        "title",
        "vendor",          "license",      "homepage",     "abi",            "capabilities",
        "extensions",      "hostExtensions", "envRequirements", "optionalEnv", "configSchema",
        "recovery",        "scopeFields",  "languages",    "cancellation",   "cleanup",
        "streams",         "concurrency",  "needs",        "lifetimeStepSeconds"};
    for (const auto& member : document) {
      const std::string_view key = member.key();
      if (std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown)) continue;
      manifest_.unknown[key] = member.value();
      add(clause::kManifest, "", fmt::format("manifest.{}, which this host does not know", key),
          "remove it, or use a host that knows it; it is kept and has no effect",
          Severity::kWarning);
    }
  }

  void backing() {
    const auto& tables = manifest_.extensions;
    for (const CapabilityClaim& claim : manifest_.capabilities) {
      const std::string_view table = extension_of(claim.id);
      if (table.empty() || std::find(tables.begin(), tables.end(), table) != tables.end()) continue;
      add(clause::kClaimsBacked, fmt::format("capability {}", claim.id),
          fmt::format("no extension {} in the manifest, which is what backs it", table),
          fmt::format("implement {} and list it, or stop claiming {}", table, claim.id));
    }
  }

  Findings& findings_;
  Manifest manifest_;
};

}  // namespace

std::string_view extension_of(std::string_view capability) {
  for (const auto& [id, extension] : kCapabilities)
    if (id == capability) return extension;
  return {};
}

std::vector<std::string_view> all_capabilities() {
  std::vector<std::string_view> out;
  for (const auto& [id, extension] : kCapabilities) out.push_back(id);
  return out;
}

std::vector<std::string> Manifest::declared_variables() const {
  std::set<std::string> names(optional_env.begin(), optional_env.end());
  for (const EnvRequirement& requirement : env_requirements)
    for (const auto& option : requirement.options) names.insert(option.begin(), option.end());
  return {names.begin(), names.end()};
}

std::optional<Manifest> parse_manifest(std::string_view text, Findings& findings) {
  const auto document = parse_json(text, {kManifestBytesMax, 32});
  if (!document) {
    findings.push_back({Severity::kRefusal, clause::kManifest, "",
                        "the manifest cannot be read: " + document.error().message(),
                        "build the provider with berth_add_provider(), which embeds it"});
    return std::nullopt;
  }
  const auto* object = document->if_object();
  if (object == nullptr) {
    findings.push_back({Severity::kRefusal, clause::kManifest, "",
                        "the manifest is not a JSON object", "write it as one"});
    return std::nullopt;
  }
  // Only what this document does wrong decides whether it is returned.
  Findings own;
  auto manifest = Parser(own).parse(*object);
  findings.insert(findings.end(), own.begin(), own.end());
  return manifest;
}

std::vector<std::string> unmet_requirements(
    const Manifest& manifest, const std::function<const char*(const std::string&)>& variable) {
  std::vector<std::string> unmet;
  for (const EnvRequirement& requirement : manifest.env_requirements) {
    const bool met =
        std::any_of(requirement.options.begin(), requirement.options.end(), [&](const auto& option) {
          return std::all_of(option.begin(), option.end(), [&](const std::string& name) {
            const char* value = variable(name);
            return value != nullptr && value[std::strspn(value, " \t\r\n")] != '\0';
          });
        });
    if (met) continue;
    std::vector<std::string> options;
    for (const auto& option : requirement.options)
      options.push_back(fmt::format("{}", fmt::join(option, " and ")));
    unmet.push_back(fmt::format("set {}{}{}", fmt::join(options, ", or "),
                                requirement.description.empty() ? "" : ": ",
                                requirement.description));
  }
  return unmet;
}

}  // namespace berth::registry
