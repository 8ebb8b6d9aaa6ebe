#include "core/conformance/subject.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <cstdlib>

#include "core/base/json.h"

namespace berth::conformance {

namespace json = boost::json;

std::string encode(const CaseRequest& request) {
  return to_json_text(json::object{{"task", request.task},
                                   {"file", request.file.string()},
                                   {"digest", request.digest},
                                   {"config", request.config_json},
                                   {"folder", request.folder.string()},
                                   {"worker", request.worker.string()},
                                   {"ownerTag", request.owner_tag},
                                   {"seed", std::to_string(request.seed)},
                                   {"timeScale", fmt::format("{}", request.time_scale)},
                                   {"budgetMs", request.budget_ms}});
}

Result<CaseRequest> decode_request(std::string_view text) {
  BERTH_TRY(const json::value document, parse_json(text));
  if (!document.is_object()) return fail(ErrorKind::kInternal, "a request that is no object");
  const json::object& object = document.get_object();
  CaseRequest out;
  const auto take = [&object](std::string_view key) { return json_string(object, key, "request"); };
  BERTH_TRY(out.task, take("task"));
  BERTH_TRY(out.file, take("file"));
  BERTH_TRY(out.digest, take("digest"));
  BERTH_TRY(out.config_json, take("config"));
  BERTH_TRY(out.folder, take("folder"));
  BERTH_TRY(out.worker, take("worker"));
  BERTH_TRY(out.owner_tag, take("ownerTag"));
  BERTH_TRY(const std::string seed, take("seed"));
  BERTH_TRY(const std::string scale, take("timeScale"));
  BERTH_TRY(out.budget_ms, json_int(object, "budgetMs", "request"));
  out.seed = std::strtoull(seed.c_str(), nullptr, 10);
  out.time_scale = std::strtod(scale.c_str(), nullptr);
  return out;
}

Result<Subject> Subject::take(CaseRequest request) {
  Subject subject;
  subject.image = registry::take_image(request.file);
  const registry::Inspection& inspection = subject.image.inspection;
  if (!inspection.loadable() || !inspection.manifest)
    return fail(registry::refusal(request.file.string(), inspection.findings));
  if (inspection.digest != request.digest)
    return fail(ErrorKind::kInternal,
                fmt::format("{} changed while it was tested", request.file.string()));
  subject.request = std::move(request);
  return subject;
}

plugin::Claims Subject::claims() const {
  plugin::Claims claims;
  claims.extensions = manifest().extensions;
  claims.fences = manifest().recovery == Recovery::kFence;
  claims.concurrency = manifest().concurrency_per_provider;
  claims.variables = manifest().declared_variables();
  return claims;
}

plugin::DriverSettings Subject::driver_settings() const {
  plugin::DriverSettings settings;
  settings.config_json = request.config_json;
  settings.declared = manifest().declared_variables();
  settings.threads_max = manifest().concurrency_per_provider;
  for (const std::string& name : settings.declared)
    if (const char* value = std::getenv(name.c_str())) settings.variables.emplace(name, value);
  return settings;
}

Duration Subject::scaled(Duration duration) const {
  return Duration(static_cast<Duration::rep>(static_cast<double>(duration.count()) *
                                             request.time_scale));
}

}  // namespace berth::conformance
