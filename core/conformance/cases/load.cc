// LOAD: what becoming a part of a process does to it.
#include "core/conformance/lab.h"
#include "core/conformance/process_state.h"

namespace berth::conformance {
namespace {

Status leaves_the_process_alone(Lab& lab) {
  const ProcessState before = process_state();
  BERTH_CHECK_OK(lab.load());
  const ProcessState loaded = process_state();
  if (before != loaded) return violated("after loading, " + difference(before, loaded));
  BERTH_CHECK_OK(lab.open());
  const ProcessState opened = process_state();
  if (before != opened) return violated("after open, " + difference(before, opened));
  return {};
}

constexpr Case kCases[] = {
    {"LOAD-007", "loading-leaves-the-process-alone", "LOAD-007", Profile::kSmoke, Start::kFile,
     "Compares signals, mask, working directory, environment, locale, umask and limits before loading, after it "
     "and after open",
     &leaves_the_process_alone},
};

}  // namespace

CaseList load_cases() { return kCases; }

}  // namespace berth::conformance
