// OP: operations and their ends.
#include "core/conformance/lab.h"

#include <fmt/format.h>

namespace berth::conformance {
namespace {

constexpr std::chrono::milliseconds kSettle{50};

Status completes_each_once(Lab& lab) {
  for (int round = 0; round < 3; ++round) {
    const Answer<ProbeReport> probed = lab.probe();
    if (!probed.outcome.done()) return violated(describe("probe", probed.outcome));
  }
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Found found, lab.looked_up(made.name));
  BERTH_CHECK_OK(lab.gone(made.name));
  // A second completion may come late: the driver sees it and holds it against this clause.
  lab.bench().wait_until(kSettle, [] { return false; });
  if (lab.bench().open_operations() != 0)
    return violated(fmt::format("{} operations are still open after all were awaited",
                                lab.bench().open_operations()));
  return {};
}

constexpr Case kCases[] = {
    {"OP-002", "every-operation-completes-once", "OP-002", Profile::kSmoke, Start::kOpen,
     "Carries operations of several slots to their end, one slot several times, and counts completions",
     &completes_each_once},
};

}  // namespace

CaseList op_cases() { return kCases; }

}  // namespace berth::conformance
