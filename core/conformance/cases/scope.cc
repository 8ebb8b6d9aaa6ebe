// OPEN and SCOPE: becoming usable, and where sandboxes live.
#include "core/conformance/lab.h"

namespace berth::conformance {
namespace {

Status stays_the_same(Lab& lab) {
  const Answer<Scope> before = lab.scope();
  if (!before.outcome.done()) return violated(describe("scope", before.outcome));
  BERTH_TRY(const Created made, lab.sandbox());
  const Answer<Scope> after = lab.scope();
  if (!after.outcome.done()) return violated(describe("scope", after.outcome));
  if (before.value != after.value)
    return violated("the scope after a create is not the one before it");
  BERTH_TRY(const auto fresh, lab.fresh());
  if (fresh->scope() != before.value)
    return violated("the scope in another process is not the one in this");
  fresh->close();
  return lab.gone(made.name);
}

constexpr Case kCases[] = {
    {"SCOPE-002", "the-scope-stays-the-same", "SCOPE-002", Profile::kSmoke, Start::kOpen,
     "Asks for the scope before a create, after it and in another process, and expects one answer",
     &stays_the_same},
};

}  // namespace

CaseList scope_cases() { return kCases; }

}  // namespace berth::conformance
