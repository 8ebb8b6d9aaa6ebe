#include "plugins/vercel/create_body.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "berth/outcome.hpp"
#include "plugins/http/json_fields.h"
#include "plugins/vercel/model.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;
using http::view;
using std::chrono::milliseconds;

constexpr std::uint64_t kMemoryPerCpuBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kCpusDefault = 2;
constexpr std::uint64_t kCpusMost = 32;
constexpr milliseconds kLifetimeDefault{5 * 60 * 1000};
constexpr milliseconds kLifetimeLeast{1000};

[[noreturn]] void refuse(std::string message) {
  throw Failure::rejected(Code::kUnsupported, std::move(message));
}

// One processor or an even number of them, each with two gibibytes: there is no other choice.
std::uint64_t cpus_of(const Limits& limits) {
  if (limits.cpu_time.count() != 0 || limits.file_size_bytes != 0 || limits.processes != 0 ||
      limits.open_files != 0 || limits.disk_bytes != 0)
    refuse("Vercel cannot limit processor time, disk, file sizes, processes or open files");
  if (limits.cpu_millis == 0 && limits.memory_bytes == 0) return kCpusDefault;
  const std::uint64_t by_cpu = limits.cpu_millis / 1000;
  const std::uint64_t by_memory = limits.memory_bytes / kMemoryPerCpuBytes;
  const std::uint64_t cpus = limits.cpu_millis != 0 ? by_cpu : by_memory;
  const bool whole = limits.cpu_millis % 1000 == 0 && limits.memory_bytes % kMemoryPerCpuBytes == 0;
  const bool agree = limits.cpu_millis == 0 || limits.memory_bytes == 0 || by_cpu == by_memory;
  const bool offered = cpus == 1 || (cpus % 2 == 0 && cpus != 0 && cpus <= kCpusMost);
  if (!whole || !agree || !offered)
    refuse("Vercel gives 1 processor or an even number up to 32, and 2 GiB of memory with each");
  return cpus;
}

void require_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (!plain || name.empty())
    throw Failure::rejected(Code::kInvalidArgument,
                            "a name at Vercel has letters, digits, hyphens and underscores");
}

}  // namespace

std::string create_body(const Settings& settings, std::string_view name, const CreateSpec& spec) {
  require_name(name);
  const std::string image(spec.image.empty() ? std::string_view(settings.image_for(spec.languages))
                                             : spec.image);
  if (!is_image(image))
    throw Failure::rejected(Code::kInvalidArgument, "the image is not a reference of one");
  json::object env, tags, body;
  for (const PairView& pair : spec.env) env[view(pair.key)] = view(pair.value);
  if (!spec.owner_tag.empty()) tags[view(kOwnerTag)] = view(spec.owner_tag);
  body["projectId"] = settings.identity.project;
  body["ports"] = json::array();
  // The service ends a session by itself after this, whoever lives. [KEY-006]
  const auto lifetime =
      spec.lifetime.count() > 0 ? std::chrono::ceil<milliseconds>(spec.lifetime) : kLifetimeDefault;
  body["timeout"] = std::max(lifetime, kLifetimeLeast).count();
  body["resources"] = {{"vcpus", cpus_of(spec.limits)}};
  body["name"] = view(name);
  body["image"] = image;
  // The service's default keeps a snapshot of what was stopped, and brings it back when asked for.
  body["persistent"] = false;
  switch (spec.network) {
    case Network::kNone:
      body["networkPolicy"] = {{"mode", "deny-all"}};
      break;
    case Network::kOpen:
      body["networkPolicy"] = {{"mode", "allow-all"}};
      break;
    default:
      refuse("this kind of network is not known");
  }
  body["env"] = std::move(env);
  body["tags"] = std::move(tags);
  if (!settings.region.empty()) body["region"] = settings.region;
  return json::serialize(body);
}

}  // namespace berth::vercel
