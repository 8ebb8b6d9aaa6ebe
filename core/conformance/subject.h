// Subject: the provider a case is about, and everything its process needs to load it.
#ifndef BERTH_CORE_CONFORMANCE_SUBJECT_H_
#define BERTH_CORE_CONFORMANCE_SUBJECT_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/plugin/binding.h"
#include "core/plugin/table_driver.h"
#include "core/registry/inspect.h"

namespace berth::conformance {

// What the parent tells a child. Crosses as JSON.
struct CaseRequest {
  std::string task;  // a case's id, or one of the tasks below
  std::filesystem::path file;
  std::string digest;  // of the file the parent inspected
  std::string config_json = "{}";
  std::filesystem::path folder;  // the case's own
  std::filesystem::path worker;
  std::string owner_tag;
  std::uint64_t seed = 0;
  double time_scale = 1;
  std::int64_t budget_ms = 60'000;
};
inline constexpr std::string_view kLoadTask = "load";    // loads the provider and says what was found
inline constexpr std::string_view kCleanTask = "clean";  // destroys what a case left behind
// In the case's folder, before its provider is loaded: what a later run needs to clean up after a dead one.
inline constexpr char kRequestFile[] = "request";

std::string encode(const CaseRequest& request);
Result<CaseRequest> decode_request(std::string_view text);

struct Subject {
  CaseRequest request;
  registry::ProviderImage image;

  static Result<Subject> take(CaseRequest request);

  const registry::Manifest& manifest() const { return *image.inspection.manifest; }
  plugin::Claims claims() const;
  plugin::DriverSettings driver_settings() const;
  std::filesystem::path state_dir() const { return request.folder / "s"; }
  // The file every created name is written to before its create.
  std::filesystem::path names_file() const { return request.folder / "names"; }
  // `duration` on a machine as slow as the caller says this one is.
  Duration scaled(Duration duration) const;
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_SUBJECT_H_
