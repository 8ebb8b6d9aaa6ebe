#include "plugins/daytona/create_body.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "berth/outcome.hpp"
#include "plugins/daytona/api.h"
#include "plugins/http/json_fields.h"

namespace berth::daytona {
namespace {

namespace json = boost::json;
using http::view;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
constexpr std::chrono::minutes kLifetimeDefault{60};

[[noreturn]] void refuse(std::string message) {
  throw Failure::rejected(Code::kUnsupported, std::move(message));
}

// Whole processors and whole gibibytes are what the service can set, and only with an image.
void add_resources(const Limits& limits, bool from_image, json::object& body) {
  if (limits.cpu_time.count() != 0 || limits.file_size_bytes != 0 || limits.processes != 0 ||
      limits.open_files != 0)
    refuse("Daytona cannot limit processor time, file sizes, processes or open files");
  const bool any = limits.cpu_millis != 0 || limits.memory_bytes != 0 || limits.disk_bytes != 0;
  if (any && !from_image)
    refuse(
        "Daytona sets processors, memory and disk of a sandbox only when it is made from an "
        "image; ask for one (an image reference such as python:3.12-slim)");
  if (limits.cpu_millis % 1000 != 0) refuse("Daytona gives whole processors only");
  if (limits.memory_bytes % kGib != 0 || limits.disk_bytes % kGib != 0)
    refuse("Daytona gives memory and disk in whole GiB only");
  if (limits.cpu_millis != 0) body["cpu"] = limits.cpu_millis / 1000;
  if (limits.memory_bytes != 0) body["memory"] = limits.memory_bytes / kGib;
  if (limits.disk_bytes != 0) body["disk"] = limits.disk_bytes / kGib;
}

}  // namespace

std::string create_body(const Settings& settings, std::string_view name, const CreateSpec& spec) {
  json::object env, labels, body;
  for (const PairView& pair : spec.env) env[view(pair.key)] = view(pair.value);
  const bool python =
      std::find(spec.languages.begin(), spec.languages.end(), "python") != spec.languages.end() ||
      spec.languages.empty();
  labels[view(kOwnerLabel)] = view(spec.owner_tag);
  labels[view(kNameLabel)] = view(name);
  labels["code-toolbox-language"] = python ? "python" : "javascript";
  body["name"] = view(name);
  body["env"] = std::move(env);
  body["labels"] = std::move(labels);
  body["public"] = false;
  if (!settings.target.empty()) body["target"] = settings.target;
  const std::string_view image = spec.image.empty() ? settings.snapshot : spec.image;
  require_image(image);
  if (is_image(image))
    body["buildInfo"] = {{"dockerfileContent", "FROM " + std::string(image) + "\n"}};
  else if (!image.empty())
    body["snapshot"] = view(image);
  add_resources(spec.limits, is_image(image), body);
  // The lifetime is the only timer that fires in every state; stopping means deleting, so that
  // nothing that was forgotten fills the quota of disks.
  const auto lifetime = spec.lifetime.count() > 0 ? spec.lifetime : kLifetimeDefault;
  const auto minutes = std::chrono::ceil<std::chrono::minutes>(lifetime).count();
  body["ttlMinutes"] = minutes;
  body["autoStopInterval"] = minutes;
  body["autoDeleteInterval"] = 0;
  if (spec.network == Network::kNone)
    body["networkBlockAll"] = true;
  else if (spec.network != Network::kOpen)
    refuse("this kind of network is not known");
  return json::serialize(body);
}

}  // namespace berth::daytona
