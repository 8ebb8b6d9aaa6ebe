#include <fnmatch.h>

#include <algorithm>

#include "core/conformance/case.h"

namespace berth::conformance {
namespace {

std::vector<Case> collect() {
  std::vector<Case> all;
  for (const CaseList area :
       {meta_cases(), load_cases(), scope_cases(), op_cases(), key_cases(), out_cases(), program_cases(),
        file_cases(), canc_cases(), strm_cases(), clean_cases(), fence_cases(), conc_cases(), mem_cases(),
        shut_cases(), fault_cases()})
    all.insert(all.end(), area.begin(), area.end());
  return all;
}

}  // namespace

std::span<const Case> all_cases() {
  static const auto* const all = new std::vector<Case>(collect());
  return *all;
}

const Case* find_case(std::string_view id) {
  const auto all = all_cases();
  const auto found =
      std::find_if(all.begin(), all.end(), [id](const Case& one) { return one.id == id; });
  return found == all.end() ? nullptr : &*found;
}

bool applies(const Case& one, const registry::Manifest& manifest) {
  if (one.capability.empty()) return true;
  if (one.capability == kFences) return manifest.recovery == Recovery::kFence;
  return std::any_of(manifest.capabilities.begin(), manifest.capabilities.end(),
                     [&](const registry::CapabilityClaim& claim) { return claim.id == one.capability; });
}

std::string_view to_string(Profile profile) {
  switch (profile) {
    case Profile::kSmoke: return "smoke";
    case Profile::kFull: return "full";
    case Profile::kStress: return "stress";
  }
  return "full";
}

bool matches(const Case& one, std::string_view glob) {
  const std::string pattern(glob);
  const std::string id(one.id);
  const std::string full = id + " " + std::string(one.slug);
  return ::fnmatch(pattern.c_str(), id.c_str(), FNM_CASEFOLD) == 0 ||
         ::fnmatch(pattern.c_str(), full.c_str(), FNM_CASEFOLD) == 0;
}

}  // namespace berth::conformance
