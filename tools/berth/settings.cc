#include "tools/berth/settings.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <utility>

#include "core/base/json.h"
#include "tools/berth/configuration_file.h"
#include "tools/berth/package_settings.h"
#include "tools/berth/values.h"

namespace berth::cli {
namespace {

constexpr std::size_t kSettingsBytesMax = std::size_t{1} << 20;
constexpr std::int64_t kMoneyMax = std::int64_t{1'000'000} * 1'000'000;

using boost::json::object;
using boost::json::value;
using Reader = std::function<Status(const value&, const std::string& path)>;
using Readers = std::map<std::string, Reader, std::less<>>;

tl::unexpected<Error> wrong(const std::string& path, std::string_view what) {
  return fail(ErrorKind::kInvalidArgument, fmt::format("{}: {}", path, what));
}

// Hands every member to its reader; a member without one is an error.
Status read_object(const value& from, const std::string& path, const Readers& readers) {
  if (!from.is_object()) return wrong(path, "is not an object");
  for (const auto& [key, member] : from.get_object()) {
    const std::string name(key);
    const std::string place = path + "." + name.substr(0, 64);
    const auto reader = readers.find(name);
    if (reader == readers.end()) {
      std::string known;
      for (const auto& [known_name, unused] : readers) known += " " + known_name;
      return wrong(place, fmt::format("is unknown; known here:{}", known));
    }
    BERTH_CHECK_OK(reader->second(member, place));
  }
  return {};
}

// Text, or a number that means the same as its text.
template <class T, class Parse>
Reader measured(T& into, Parse parse) {
  return [&into, parse](const value& from, const std::string& path) -> Status {
    std::string text;
    if (from.is_string()) {
      text = std::string(from.get_string());
    } else if (from.is_number()) {
      text = to_json_text(from);
    } else {
      return wrong(path, "is neither text nor a number");
    }
    auto parsed = parse(text);
    if (!parsed) return wrong(path, parsed.error().message());
    into = *parsed;
    return {};
  };
}

Reader money(Money& into) {
  return [&into](const value& from, const std::string& path) -> Status {
    const std::int64_t* micros = from.if_int64();
    if (micros == nullptr || *micros < 0 || *micros > kMoneyMax) {
      return wrong(path, "is not a whole number of micro-dollars from 0 to 10^12");
    }
    into = Money::micros(*micros);
    return {};
  };
}

Reader text(std::string& into) {
  return [&into](const value& from, const std::string& path) -> Status {
    if (!from.is_string() || from.get_string().empty()) return wrong(path, "is not text");
    into = std::string(from.get_string());
    return {};
  };
}

Reader truth(bool& into) {
  return [&into](const value& from, const std::string& path) -> Status {
    if (!from.is_bool()) return wrong(path, "is neither true nor false");
    into = from.get_bool();
    return {};
  };
}

Reader nested(Readers readers) {
  return [readers = std::move(readers)](const value& from, const std::string& path) {
    return read_object(from, path, readers);
  };
}

Reader billing(std::optional<CreditsConfig>& into) {
  return [&into](const value& from, const std::string& path) -> Status {
    std::string kind;
    CreditsConfig config;
    BERTH_CHECK_OK(read_object(
        from, path, {{"kind", text(kind)}, {"initialGrantMicroUsd", money(config.initial_grant)}}));
    if (kind != "credits") return wrong(path + ".kind", "is not \"credits\"");
    into = config;
    return {};
  };
}

Status check(const Settings& settings) {
  const LifecycleLimits& deadlines = settings.deadlines;
  if (deadlines.sandbox_lifetime < deadlines.application_deadline) {
    return wrong("config.deadlines.lifetime",
                 "is shorter than config.deadlines.call; a sandbox must outlive its call");
  }
  return {};
}

}  // namespace

Result<Settings> parse_settings(std::string_view document) {
  BERTH_TRY(value parsed, parse_json(document, {kSettingsBytesMax, 32}));
  if (!parsed.is_object()) return wrong("config", "is not an object");
  Settings settings;
  object of_registry;
  const auto registrys = [&of_registry](std::string_view key) -> Reader {
    return [&of_registry, key](const value& from, const std::string&) -> Status {
      of_registry[key] = from;
      return {};
    };
  };
  const Readers readers = {
      {"provider", text(settings.provider)},
      {"priceMicroUsd", money(settings.price)},
      {"limits", nested({{"memory", measured(settings.limits.memory_bytes, parse_size)},
                         {"disk", measured(settings.limits.disk_bytes, parse_size)},
                         {"cpus", measured(settings.limits.cpu_millis, parse_cpus)},
                         {"processes", measured(settings.limits.processes, parse_count)},
                         {"timeout", measured(settings.timeout, parse_duration)}})},
      {"deadlines",
       nested({{"call", measured(settings.deadlines.application_deadline, parse_duration)},
               {"create", measured(settings.deadlines.create_deadline, parse_duration)},
               {"cleanup", measured(settings.deadlines.cleanup_budget, parse_duration)},
               {"lifetime", measured(settings.deadlines.sandbox_lifetime, parse_duration)}})},
      {"retention", nested({{"results", measured(settings.result_retention, parse_age)}})},
      {"billing", billing(settings.credits)},
      {"python",
       [&settings](const value& from, const std::string& path) {
         return read_package_settings(from, path, settings.packages);
       }},
      {"documents", nested({{"run", truth(settings.run_documents)}})},
      {"templates", nested({{"keep", truth(settings.keep_templates)},
                            {"idle", measured(settings.keeper_idle, parse_duration)}})},
      {"providers", registrys("providers")},
      {"requireLock", registrys("requireLock")},
      {"requireSignature", registrys("requireSignature")},
      {"trustedKeys", registrys("trustedKeys")},
  };
  settings.selects_provider = parsed.get_object().contains("provider");
  BERTH_CHECK_OK(read_object(parsed, "config", readers));
  BERTH_CHECK_OK(check(settings));
  BERTH_TRY(settings.registry, registry::parse_configuration(to_json_text(value(of_registry))));
  return settings;
}

Result<Settings> load_settings(const ConfigPlace& place) {
  if (place.path.empty()) return Settings{};
  const std::string context = fmt::format("configuration file '{}'", place.path.string());
  auto text = read_configuration_file(place.path, kSettingsBytesMax, context);
  if (!text && text.error().kind() == ErrorKind::kNotFound && !place.must_exist) return Settings{};
  if (!text) return fail(text.error());
  auto settings = parse_settings(*text);
  if (!settings) return fail(settings.error().with(context));
  settings->file = place.path;
  if (settings->selects_provider) settings->selected_by = place.path;
  return settings;
}

}  // namespace berth::cli
