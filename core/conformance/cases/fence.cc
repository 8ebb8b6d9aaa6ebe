// FENCE: that a create can never succeed any more.
#include <fmt/format.h>

#include "core/conformance/lab.h"

namespace berth::conformance {
namespace {

Status is_held_off(Lab& lab, const std::string& name, const Outcome& create) {
  if (create.done()) return violated("fence answered ABSENT_FENCED, and a create of that name is DONE");
  BERTH_TRY(const Found found, lab.looked_up(name));
  if (found.presence == Presence::kPresent || found.presence == Presence::kInProgress)
    return violated("fence answered ABSENT_FENCED, and there is a sandbox of that name");
  return {};
}

Result<Presence> fenced(const Answer<Found>& answer) {
  if (!answer.outcome.done()) return violated(describe("fence", answer.outcome));
  return answer.value.presence;
}

// One create comes after the fence; others are under way when it comes.
Status fenced_name_makes_nothing(Lab& lab) {
  const std::string before = lab.new_name();
  BERTH_TRY(const Presence presence, fenced(lab.fence(before)));
  if (presence != Presence::kAbsentFenced) return violated("fence of a name nobody used is not ABSENT_FENCED");
  BERTH_CHECK_OK(is_held_off(lab, before, lab.create(before).outcome));
  BERTH_CHECK_OK(lab.gone(before));
  constexpr int kRaces = 12;
  for (int race = 0; race < kRaces; ++race) {
    const std::string name = lab.new_name();
    const plugin::OpId create = lab.begin_create(name);
    lab.bench().wait_until(std::chrono::milliseconds(race), [&] { return lab.bench().complete(create); });
    const plugin::OpId fence = lab.begin(plugin::Slot::kFence, plugin::NameCall{name});
    if (!lab.bench().wait(fence, lab.patience()) || !lab.bench().wait(create, lab.patience()))
      return violated("a create and a fence of one name were not both completed");
    const Record answer = lab.bench().record(fence);
    const auto* found = std::get_if<Found>(&answer.reply.value);
    if (found != nullptr && found->presence == Presence::kAbsentFenced)
      BERTH_CHECK_OK(is_held_off(lab, name, lab.bench().record(create).reply.outcome));
    BERTH_CHECK_OK(lab.gone(name));
  }
  return {};
}

Status fence_outlives_its_process(Lab& lab) {
  const std::string name = lab.new_name();
  lab.remember(name);
  {
    BERTH_TRY(const auto fresh, lab.fresh());
    BERTH_TRY(const Presence presence, fenced(fresh->fence(name)));
    if (presence != Presence::kAbsentFenced) return violated("fence of a name nobody used is not ABSENT_FENCED");
    fresh->kill();
  }
  BERTH_CHECK_OK(is_held_off(lab, name, lab.create(name).outcome));
  return lab.gone(name);
}

Status fence_ends_nothing(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Found before, lab.looked_up(made.name));
  if (before.presence != Presence::kPresent) return violated("lookup does not find what was just made");
  const Answer<Found> answer = lab.fence(made.name);
  BERTH_TRY(const Presence presence, fenced(answer));
  if (presence != Presence::kPresent) return violated("fence of a sandbox that exists does not answer PRESENT");
  if (answer.value.ref != made.ref)
    return violated(fmt::format("fence answers with {} of the sandbox {}", answer.value.ref, made.ref));
  BERTH_TRY(const Found after, lab.looked_up(made.name));
  if (after.presence != Presence::kPresent) return violated("fence ended a sandbox");
  return lab.gone(made.name);
}

constexpr Case kFenceCases[] = {
    {"FENCE-001", "a-fenced-name-makes-nothing", "FENCE-001", Profile::kSmoke, Start::kOpen,
     "Creates after a fence, and fences while a create is under way, and looks for what must not exist",
     &fenced_name_makes_nothing, kFences},
    {"FENCE-002", "a-fence-outlives-its-process", "FENCE-002", Profile::kSmoke, Start::kOpen,
     "Lets a process fence a name that is then killed, and creates that name", &fence_outlives_its_process,
     kFences},
    {"FENCE-003", "a-fence-ends-nothing", "FENCE-003", Profile::kSmoke, Start::kOpen,
     "Fences a sandbox that exists, and expects PRESENT and the sandbox", &fence_ends_nothing, kFences},
};

}  // namespace

CaseList fence_cases() { return kFenceCases; }

}  // namespace berth::conformance
