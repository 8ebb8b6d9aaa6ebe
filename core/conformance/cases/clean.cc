// CLEAN: the end of a sandbox.
#include <fmt/format.h>

#include <algorithm>

#include "core/conformance/programs.h"

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
  BERTH_TRY(const Created other, lab.sandbox());
  const Answer<Destroyed> by_both = lab.destroy(other.name, other.ref);
  if (!by_both.outcome.done()) return violated(describe("destroy", by_both.outcome));
  BERTH_CHECK_OK(is_gone(lab, other.name));
  return lab.gone(lab.new_name());
}

Status fresh_process_destroys(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const auto fresh, lab.fresh());
  const Answer<Destroyed> answer = fresh->destroy(made.name);
  if (!answer.outcome.done()) return violated(describe("destroy in a fresh process", answer.outcome));
  fresh->close();
  BERTH_CHECK_OK(is_gone(lab, made.name));
  return lab.gone(made.name);
}

Status running_sandbox_is_destroyed(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const plugin::OpId op, begin_beating(lab, made.ref));
  BERTH_CHECK_OK(lab.gone(made.name));
  if (!lab.bench().wait(op, lab.patience()))
    return violated("a sandbox was destroyed, and a run in it is not completed");
  return is_gone(lab, made.name);
}

// A destroy that has no time cannot have confirmed anything, unless it was quick.
Status unconfirmed_is_not_done(Lab& lab) {
  for (const int ms : {0, 1, 5, 20}) {
    BERTH_TRY(const Created made, lab.sandbox());
    Treatment treatment;
    treatment.deadline = std::chrono::milliseconds(ms);
    const plugin::OpId op =
        lab.begin(plugin::Slot::kDestroy, plugin::DestroyCall{made.name, {}}, treatment);
    if (lab.bench().wait(op, lab.patience()) && lab.bench().record(op).reply.outcome.done()) {
      const Status gone = is_gone(lab, made.name);
      if (!gone) return fail(gone.error().with(fmt::format("with a deadline of {} ms", ms)));
    }
    BERTH_CHECK_OK(lab.gone(made.name));
  }
  return {};
}

Status each_is_listed_once(const std::vector<Listed>& listed, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto times =
        std::count_if(listed.begin(), listed.end(), [&](const Listed& item) { return item.name == name; });
    if (times != 1) return violated(fmt::format("of {} sandboxes one is listed {} times", names.size(), times));
  }
  if (listed.size() != names.size())
    return violated(fmt::format("{} sandboxes carry the tag, and {} are listed", names.size(), listed.size()));
  return {};
}

constexpr std::size_t kListedCount = 12;

Status list_has_everything(Lab& lab) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kListedCount; ++i) {
    BERTH_TRY(const Created made, lab.sandbox());
    names.push_back(made.name);
  }
  CreateSpec of_another = Lab::plain_spec();
  of_another.owner_tag = lab.owner_tag() + "-other";
  BERTH_TRY(const Created other, lab.made(lab.new_name(), of_another));
  const auto listed = lab.list_owned(lab.owner_tag());
  if (!listed.outcome.done()) return violated(describe("list_owned", listed.outcome));
  BERTH_CHECK_OK(each_is_listed_once(listed.value, names));
  for (const std::string& name : names) BERTH_CHECK_OK(lab.gone(name));
  const auto after = lab.list_owned(lab.owner_tag());
  if (!after.outcome.done()) return violated(describe("list_owned", after.outcome));
  if (!after.value.empty()) return violated("what was destroyed is still listed");
  return lab.gone(other.name);
}

// More than a page of any service that is known has: 20 to 200 of them; 256 on this machine.
constexpr std::size_t kCrowdMax = 264;
constexpr std::size_t kCrowdAtOnce = 8;

bool allows_no_more(const Outcome& outcome) {
  return outcome.outcome_class == OutcomeClass::kRejected &&
         (outcome.code == OutcomeCode::kQuota || outcome.code == OutcomeCode::kRateLimited);
}

struct Crowd {
  std::vector<std::string> names;
  bool bounded = false;  // by what the account allows, or by time
};

// Several at once, for a service takes a second for each, and few, for each has its time.
Status add_some(Lab& lab, Crowd& crowd, std::size_t count) {
  std::vector<std::pair<std::string, plugin::OpId>> creates;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = lab.new_name();
    creates.emplace_back(name, lab.begin_create(name));
  }
  for (const auto& [name, op] : creates) {
    if (!lab.bench().wait(op, lab.patience())) return violated("create was not completed");
    const Outcome outcome = lab.bench().record(op).reply.outcome;
    if (outcome.done()) crowd.names.push_back(name);
    else if (allows_no_more(outcome)) crowd.bounded = true;
    else return violated(describe("create", outcome));
  }
  return {};
}

Status end_all(Lab& lab, const std::vector<std::string>& names, std::size_t at_once) {
  for (std::size_t from = 0; from < names.size(); from += at_once) {
    std::vector<std::pair<std::string, plugin::OpId>> destroys;
    for (std::size_t i = from; i < std::min(from + at_once, names.size()); ++i)
      destroys.emplace_back(names[i], lab.begin(plugin::Slot::kDestroy, plugin::DestroyCall{names[i], {}}));
    for (const auto& [name, op] : destroys) {
      if (!lab.bench().wait(op, lab.patience())) return violated("destroy was not completed");
      const Outcome outcome = lab.bench().record(op).reply.outcome;
      if (!outcome.done()) return violated(describe("destroy", outcome));
      lab.forget(name);
    }
  }
  return {};
}

// Nothing shows at a page's end but more sandboxes than it holds.
Status list_goes_on(Lab& lab) {
  const std::size_t at_once = std::min<std::size_t>(kCrowdAtOnce, lab.manifest().concurrency_per_provider);
  // Of a case's time a part that leaves the rest for ending them.
  const Instant enough = std::chrono::steady_clock::now() + lab.patience();
  Crowd crowd;
  bool goes_on = false;
  while (!goes_on && !crowd.bounded && crowd.names.size() < kCrowdMax) {
    BERTH_CHECK_OK(add_some(lab, crowd, std::min(at_once, kCrowdMax - crowd.names.size())));
    const auto page = lab.list_page(lab.owner_tag());
    if (!page.outcome.done()) return violated(describe("list_owned", page.outcome));
    goes_on = !page.value.next_cursor.empty();
    crowd.bounded = crowd.bounded || std::chrono::steady_clock::now() > enough;
  }
  const auto listed = lab.list_owned(lab.owner_tag());
  if (!listed.outcome.done()) return violated(describe("list_owned", listed.outcome));
  BERTH_CHECK_OK(each_is_listed_once(listed.value, crowd.names));
  {
    BERTH_TRY(const auto fresh, lab.fresh());
    const auto swept = fresh->list_owned(lab.owner_tag());
    if (!swept.outcome.done()) return violated(describe("list_owned in a fresh process", swept.outcome));
    const Status same = each_is_listed_once(swept.value, crowd.names);
    if (!same) return fail(same.error().with("in a fresh process"));
    fresh->close();
  }
  BERTH_CHECK_OK(end_all(lab, crowd.names, at_once));
  if (!goes_on && crowd.bounded)
    return lacking(fmt::format("one page holds the {} sandboxes that could be made", crowd.names.size()));
  return {};
}

constexpr Case kCleanCases[] = {
    {"CLEAN-001", "destroy-means-gone", "CLEAN-001", Profile::kSmoke, Start::kOpen,
     "Destroys sandboxes by name, and by name and reference, looks for them, and destroys again what is gone or never was",
     &destroy_means_gone},
    {"CLEAN-002", "a-fresh-process-destroys", "CLEAN-002", Profile::kSmoke, Start::kOpen,
     "Lets a process that knows nothing but the name destroy a sandbox, and looks for it",
     &fresh_process_destroys},
    {"CLEAN-003", "a-running-sandbox-is-destroyed", "CLEAN-003", Profile::kFull, Start::kOpen,
     "Destroys a sandbox while a program runs in it that heeds no signal", &running_sandbox_is_destroyed},
    {"CLEAN-004", "what-is-not-confirmed-is-not-done", "CLEAN-004", Profile::kSmoke, Start::kOpen,
     "Destroys with deadlines of 0 to 20 ms, and looks for each sandbox that is said to be gone",
     &unconfirmed_is_not_done},
    {"CLEAN-005", "the-list-has-everything", "CLEAN-005", Profile::kSmoke, Start::kOpen,
     "Makes a dozen sandboxes and one with another tag, lists them, destroys them and lists again",
     &list_has_everything},
    {"CLEAN-101", "the-list-goes-on-after-a-page", "CLEAN-005", Profile::kFull, Start::kOpen,
     "Makes sandboxes, at most 264, until a page does not hold them, and lists them here and in a fresh process",
     &list_goes_on},
};

}  // namespace

CaseList clean_cases() { return kCleanCases; }

}  // namespace berth::conformance
