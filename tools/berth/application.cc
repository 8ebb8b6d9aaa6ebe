#include "tools/berth/application.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <utility>

#include "core/base/json.h"
#include "tools/berth/configuration_file.h"

namespace berth::cli {
namespace {

constexpr std::size_t kBytesMax = 64 * 1024;
constexpr std::string_view kShape = R"(it must be {"provider": "ID"}, which selects exactly one)";

Result<Application> read_application(const std::filesystem::path& path) {
  const std::string context = fmt::format("application file '{}'", path.string());
  BERTH_TRY(const std::string text, read_configuration_file(path, kBytesMax, context));
  auto provider = parse_application(text);
  if (!provider) return fail(provider.error().with(context));
  return Application{path, std::move(*provider)};
}

}  // namespace

Result<std::string> parse_application(std::string_view document) {
  BERTH_TRY(const boost::json::value parsed, parse_json(document, {kBytesMax, 8}));
  const auto* object = parsed.if_object();
  const auto* provider = object == nullptr ? nullptr : object->if_contains("provider");
  if (provider == nullptr || !provider->is_string() || provider->get_string().empty())
    return fail(ErrorKind::kInvalidArgument, std::string(kShape));
  for (const auto& member : *object) {
    if (member.key() != "provider")
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("'{}' is not known here; {}",
                              std::string_view(member.key()).substr(0, 64), kShape));
  }
  return std::string(provider->get_string());
}

Result<std::optional<Application>> find_application(const std::filesystem::path& folder) {
  std::filesystem::path at = folder;
  // A folder that this user may not even enter says nothing to it, and neither does what is above.
  while (access(at.c_str(), X_OK) == 0) {
    auto found = read_application(at / "berth.json");
    if (found) return std::optional(std::move(*found));
    if (found.error().kind() != ErrorKind::kNotFound) return fail(found.error());
    if (!at.has_relative_path()) return std::optional<Application>();
    at = at.parent_path();
  }
  return std::optional<Application>();
}

}  // namespace berth::cli
