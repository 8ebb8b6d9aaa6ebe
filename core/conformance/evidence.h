// Evidence: the last whole report on a file, kept by the file's digest.
//
// A manifest claims; a report on exactly this file shows. Another digest has shown nothing.
#ifndef BERTH_CORE_CONFORMANCE_EVIDENCE_H_
#define BERTH_CORE_CONFORMANCE_EVIDENCE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/conformance/results.h"

namespace berth::conformance {

// Replaces what is known of the digest. Only for a whole report that was not interrupted, on a file that is a
// provider, and in which the kit itself did not fail: anything else shows nothing of a provider.
Status keep_evidence(const std::filesystem::path& folder, const RunReport& report);
// Nothing when there is none, or when it cannot be read.
std::optional<RunReport> find_evidence(const std::filesystem::path& folder, std::string_view digest);

// "shown by profile full", "2 cases failed", "no case tests it", "not run on this file": for the base of the
// contract when `capability` is empty.
std::string standing_of(const std::optional<RunReport>& report, std::string_view capability);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_EVIDENCE_H_
