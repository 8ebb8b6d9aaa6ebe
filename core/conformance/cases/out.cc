// OUT: what an outcome says, and that it is so.
#include <fmt/format.h>

#include "core/conformance/programs.h"

namespace berth::conformance {
namespace {

constexpr char kNoSandbox[] = "kit-no-such-sandbox";

bool says_nothing_exists(const Outcome& outcome) {
  return outcome.outcome_class == OutcomeClass::kRejected || outcome.outcome_class == OutcomeClass::kFailedClean;
}

// Good ways and refused ones through every slot. The host's own checks judge the answers as they come;
// returned are the outcomes.
Result<std::vector<Outcome>> go_all_ways(Lab& lab) {
  std::vector<Outcome> all;
  const auto keep = [&all](Outcome outcome) { all.push_back(std::move(outcome)); };
  keep(lab.probe().outcome);
  keep(lab.scope().outcome);
  const std::string never = lab.new_name();
  for (const char* suffix : {"-k", "-kk"}) {
    keep(lab.lookup(never + suffix).outcome);
    keep(lab.destroy(never + suffix).outcome);
  }
  Command command = python_command("print(1)");
  keep(lab.run(kNoSandbox, command).outcome);
  keep(lab.put_file(kNoSandbox, {"/tmp/kit/file", 0644, 4}, "four").outcome);
  keep(lab.get_file(kNoSandbox, {"/tmp/kit/file", 4096}).outcome);
  CreateSpec spec = Lab::plain_spec();
  spec.languages = {"python"};
  const std::string name = lab.new_name();
  const Answer<Created> made = lab.create(name, spec);
  keep(made.outcome);
  keep(lab.create(name, spec).outcome);
  keep(lab.lookup(name).outcome);
  keep(lab.list_owned(lab.owner_tag()).outcome);
  if (made.outcome.done()) keep(lab.get_file(made.value.ref, {"/tmp/kit/none", 4096}).outcome);
  BERTH_CHECK_OK(lab.gone(name));
  return all;
}

Status answers_hold_together(Lab& lab) {
  BERTH_TRY(const std::vector<Outcome> all, go_all_ways(lab));
  static_cast<void>(all);
  return {};
}

Status every_path_states_a_class(Lab& lab) {
  BERTH_TRY(const std::vector<Outcome> all, go_all_ways(lab));
  for (const Outcome& outcome : all)
    if (outcome.outcome_class == OutcomeClass::kUnset) return violated(describe("an operation", outcome));
  return {};
}

Status nothing_of_it(Lab& lab, const std::string& name, const Outcome& outcome, std::string_view what) {
  BERTH_TRY(const Found found, lab.looked_up(name));
  const auto listed = lab.list_owned(lab.owner_tag());
  bool there = found.presence == Presence::kPresent || found.presence == Presence::kInProgress;
  for (const Listed& item : listed.value) there = there || item.name == name;
  if (there) return violated(describe(what, outcome) + "; and the sandbox exists");
  return {};
}

// What one provider refuses, another makes: whatever says that nothing exists is looked after.
Status refused_means_nothing_exists(Lab& lab) {
  struct Trial {
    const char* what;
    CreateSpec spec;
  };
  Trial trials[] = {{"create with an image nobody has", Lab::plain_spec()},
                    {"create with more memory than there is", Lab::plain_spec()},
                    {"create with a language nobody knows", Lab::plain_spec()},
                    {"create with a variable that has no name", Lab::plain_spec()}};
  trials[0].spec.image = "kit/no-such-image:0";
  trials[1].spec.limits.memory_bytes = std::uint64_t{1} << 60;
  trials[2].spec.languages = {"kit-no-such-language"};
  trials[3].spec.env = {{"", "x"}};
  for (const Trial& trial : trials) {
    const std::string name = lab.new_name();
    const Answer<Created> made = lab.create(name, trial.spec);
    if (says_nothing_exists(made.outcome)) BERTH_CHECK_OK(nothing_of_it(lab, name, made.outcome, trial.what));
    BERTH_CHECK_OK(lab.gone(name));
  }
  return {};
}

// The time runs out before, while or after the request is on its way.
Status lost_answers_are_uncertain(Lab& lab) {
  for (const int ms : {0, 1, 3, 10, 30}) {
    const std::string name = lab.new_name();
    Treatment treatment;
    treatment.deadline = std::chrono::milliseconds(ms);
    const plugin::OpId op = lab.begin_create(name, treatment);
    if (lab.bench().wait(op, lab.patience())) {
      const Outcome outcome = lab.bench().record(op).reply.outcome;
      if (says_nothing_exists(outcome))
        BERTH_CHECK_OK(nothing_of_it(lab, name, outcome, fmt::format("create with a deadline of {} ms", ms)));
    }
    BERTH_CHECK_OK(lab.gone(name));
  }
  return {};
}

constexpr Case kOutCases[] = {
    {"OUT-001", "the-class-is-one-of-six", "OUT-001", Profile::kSmoke, Start::kOpen,
     "Goes good ways and refused ones through every slot, and reads the classes", &answers_hold_together},
    {"OUT-002", "the-code-is-one-of-the-header", "OUT-002", Profile::kSmoke, Start::kOpen,
     "Goes good ways and refused ones through every slot, and reads the codes", &answers_hold_together},
    {"OUT-003", "every-path-states-a-class", "OUT-003", Profile::kSmoke, Start::kOpen,
     "Goes good ways and refused ones through every slot, and expects none to end without a class",
     &every_path_states_a_class},
    {"OUT-004", "done-brings-the-result-of-its-slot", "OUT-004", Profile::kSmoke, Start::kOpen,
     "Goes good ways and refused ones through every slot, and takes the results over", &answers_hold_together},
    {"OUT-005", "values-are-known-ones", "OUT-005", Profile::kSmoke, Start::kOpen,
     "Goes good ways and refused ones through every slot, and reads presences, states and causes",
     &answers_hold_together},
    {"OUT-006", "results-have-what-they-must", "OUT-006", Profile::kSmoke, Start::kOpen,
     "Makes a sandbox for one language, twice, and expects name and reference each time",
     &answers_hold_together},
    {"OUT-007", "refused-means-nothing-exists", "OUT-007", Profile::kSmoke, Start::kOpen,
     "Asks for sandboxes that most must refuse, and looks for each that is said not to exist",
     &refused_means_nothing_exists},
    {"OUT-008", "a-lost-answer-is-uncertain", "OUT-008", Profile::kSmoke, Start::kOpen,
     "Creates with deadlines of 0 to 30 ms, and looks for each sandbox that is said not to exist",
     &lost_answers_are_uncertain},
};

}  // namespace

CaseList out_cases() { return kOutCases; }

}  // namespace berth::conformance
