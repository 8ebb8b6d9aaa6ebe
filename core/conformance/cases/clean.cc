// CLEAN: the end of a sandbox.
#include "core/conformance/lab.h"

#include <fmt/format.h>

namespace berth::conformance {
namespace {

// What DONE of a destroy must mean, asked in this process.
Status is_gone(Lab& lab, const std::string& name) {
  BERTH_TRY(const Found found, lab.looked_up(name));
  if (found.presence == Presence::kPresent || found.presence == Presence::kInProgress)
    return violated("destroy was DONE, and lookup still finds the sandbox");
  const auto listed = lab.list_owned(lab.owner_tag());
  if (!listed.outcome.done()) return violated(describe("list_owned", listed.outcome));
  if (!listed.value.empty())
    return violated("destroy was DONE, and list_owned still returns the sandbox");
  return {};
}

Status destroy_means_gone(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_CHECK_OK(lab.gone(made.name));
  BERTH_CHECK_OK(is_gone(lab, made.name));
  BERTH_CHECK_OK(lab.gone(made.name));
  return lab.gone(lab.new_name());
}

constexpr Case kCases[] = {
    {"CLEAN-001", "destroy-means-gone", "CLEAN-001", Profile::kSmoke, Start::kOpen,
     "Destroys a sandbox, looks for it by name and by tag, destroys it again and destroys a name that never was",
     &destroy_means_gone},
};

}  // namespace

CaseList clean_cases() { return kCases; }

}  // namespace berth::conformance
