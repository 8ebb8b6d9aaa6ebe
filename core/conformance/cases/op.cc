// OP: operations and their ends.
#include "core/conformance/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace berth::conformance {
namespace {

constexpr std::chrono::milliseconds kSettle{50};

void settle(Lab& lab) {
  lab.bench().wait_until(kSettle, [] { return false; });
}

// Arguments are taken away as their operation is completed, and whoever looks at them ends this process.
Status lent_memory_is_left_alone(Lab& lab) {
  static_cast<void>(lab.probe());
  static_cast<void>(lab.scope());
  CreateSpec spec = Lab::plain_spec();
  spec.env = {{"KIT_ONE", "1"}, {"KIT_TWO", "2"}, {"KIT_THREE", "3"}};
  BERTH_TRY(const Created made, lab.made(lab.new_name(), std::move(spec)));
  settle(lab);
  BERTH_TRY(const Found found, lab.looked_up(made.name));
  static_cast<void>(lab.list_owned(lab.owner_tag()));
  static_cast<void>(lab.get_file(made.ref, {"/tmp/kit/none", 4096}));
  settle(lab);
  BERTH_CHECK_OK(lab.gone(found.name));
  settle(lab);
  return {};
}

// The host's own checks hold it against this clause when an operation is named that is not open; here is
// only given the occasion.
Status names_only_open_operations(Lab& lab) {
  static_cast<void>(lab.probe());
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Lab::Ran ran, lab.python(made.ref, "print('here')"));
  static_cast<void>(ran);
  settle(lab);
  BERTH_CHECK_OK(lab.gone(made.name));
  settle(lab);
  return {};
}

// Whatever delays this thread delays one call; a slot that waits, waits each time.
constexpr int kRounds = 5;
constexpr std::chrono::milliseconds kSlotMax{100};

class SlotTimes {
 public:
  explicit SlotTimes(Lab& lab) : lab_(lab) {}

  void time(plugin::Slot slot, plugin::Arguments arguments) {
    const plugin::OpId op = lab_.begin(slot, std::move(arguments));
    const Duration took = lab_.bench().host().slot_time(op);
    lab_.bench().wait(op, lab_.patience());
    const auto [at, first] = least_.emplace(slot, took);
    if (!first) at->second = std::min(at->second, took);
  }
  Status judge() const {
    for (const auto& [slot, least] : least_)
      if (least > std::max<Duration>(kSlotMax, lab_.scaled(kSlotMax)))
        return violated(fmt::format("slot {} never returned before {} ms", to_string(slot),
                                    std::chrono::duration_cast<std::chrono::milliseconds>(least).count()));
    return {};
  }

 private:
  Lab& lab_;
  std::map<plugin::Slot, Duration> least_;
};

Status slots_return_at_once(Lab& lab) {
  using plugin::Slot;
  SlotTimes times(lab);
  for (int round = 0; round < kRounds; ++round) {
    times.time(Slot::kProbe, {});
    times.time(Slot::kScope, {});
    const std::string name = lab.new_name();
    CreateSpec spec = Lab::plain_spec();
    spec.owner_tag = lab.owner_tag();
    lab.remember(name);
    times.time(Slot::kCreate, plugin::CreateCall{name, std::move(spec)});
    times.time(Slot::kLookup, plugin::NameCall{name});
    times.time(Slot::kListOwned, plugin::ListCall{lab.owner_tag(), {}});
    times.time(Slot::kDestroy, plugin::DestroyCall{name, {}});
    BERTH_CHECK_OK(lab.gone(name));
  }
  return times.judge();
}

Status is_a_stage(const std::string& stage, const std::string& name) {
  const auto odd = [](unsigned char c) { return c < 0x20 || c == 0x7F || (c >= 'A' && c <= 'Z'); };
  constexpr std::ptrdiff_t kWordsMax = 8;
  if (stage.empty()) return violated("a stage is empty");
  if (std::any_of(stage.begin(), stage.end(), odd))
    return violated(fmt::format("the stage \"{}\" is not in lower-case words", stage));
  if (std::count(stage.begin(), stage.end(), ' ') >= kWordsMax)
    return violated(fmt::format("the stage \"{}\" is more than a few words", stage));
  if (stage.find(name) != std::string::npos) return violated(fmt::format("the stage \"{}\" contains a name", stage));
  return {};
}

Status stages_are_a_few_words(Lab& lab) {
  using plugin::Slot;
  const std::string name = lab.new_name();
  std::vector<plugin::OpId> ops{lab.begin_create(name)};
  lab.bench().wait(ops.back(), lab.patience());
  const Record created = lab.bench().record(ops.front());
  const auto* made = std::get_if<Created>(&created.reply.value);
  const std::string ref = made != nullptr ? made->ref : std::string();
  const auto one = [&](Slot slot, plugin::Arguments arguments) {
    ops.push_back(lab.begin(slot, std::move(arguments)));
    lab.bench().wait(ops.back(), lab.patience());
  };
  one(Slot::kLookup, plugin::NameCall{name});
  Command nothing;
  nothing.argv = {"kit-no-such-program"};
  one(Slot::kRun, plugin::RunCall{ref, nothing});
  one(Slot::kGetFile, plugin::GetFileCall{ref, {"/tmp/kit/none", 4096}});
  one(Slot::kDestroy, plugin::DestroyCall{name, ref});
  for (const plugin::OpId op : ops) {
    const Record record = lab.bench().record(op);
    for (const std::string& stage : record.stages) BERTH_CHECK_OK(is_a_stage(stage, name));
    if (!record.reply.outcome.stage.empty()) BERTH_CHECK_OK(is_a_stage(record.reply.outcome.stage, name));
  }
  return lab.gone(name);
}

// The host has given these up before they are begun; what became of them is evidence all the same.
Status late_answers_come(Lab& lab) {
  using plugin::Slot;
  Treatment late;
  late.deadline = Duration{0};
  for (int round = 0; round < 2; ++round) {
    const std::string name = lab.new_name();
    const plugin::OpId create = lab.begin_create(name, late);
    if (!lab.bench().wait(create, lab.patience()))
      return violated("a create whose deadline had passed was never completed");
    const plugin::OpId lookup = lab.begin(Slot::kLookup, plugin::NameCall{name}, late);
    if (!lab.bench().wait(lookup, lab.patience()))
      return violated("a lookup whose deadline had passed was never completed");
    const plugin::OpId destroy = lab.begin(Slot::kDestroy, plugin::DestroyCall{name, {}}, late);
    if (!lab.bench().wait(destroy, lab.patience()))
      return violated("a destroy whose deadline had passed was never completed");
    BERTH_CHECK_OK(lab.gone(name));
  }
  return {};
}

Status completes_each_once(Lab& lab) {
  for (int round = 0; round < 3; ++round) {
    const Answer<ProbeReport> probed = lab.probe();
    if (!probed.outcome.done()) return violated(describe("probe", probed.outcome));
  }
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Found found, lab.looked_up(made.name));
  BERTH_CHECK_OK(lab.gone(made.name));
  const std::string none = lab.new_name();
  for (int round = 0; round < 3; ++round) {
    const Answer<Found> nothing = lab.lookup(none);
    if (nothing.outcome.code == OutcomeCode::kHostDeadline) return violated(describe("lookup", nothing.outcome));
  }
  // A second completion may come late: the driver sees it and holds it against this clause.
  settle(lab);
  if (lab.bench().open_operations() != 0)
    return violated(fmt::format("{} operations are still open after all were awaited",
                                lab.bench().open_operations()));
  return {};
}

constexpr Case kOpCases[] = {
    {"OP-001", "only-open-operations-are-named", "OP-001", Profile::kFull, Start::kOpen,
     "Carries operations to their end, a program among them, and waits for calls that name one afterwards",
     &names_only_open_operations},
    {"OP-002", "every-operation-completes-once", "OP-002", Profile::kSmoke, Start::kOpen,
     "Carries operations of several slots to their end, one slot several times, and counts completions",
     &completes_each_once},
    {"OP-003", "slots-return-at-once", "OP-003", Profile::kSmoke, Start::kOpen,
     "Calls each slot five times and measures how long the quickest call took to return",
     &slots_return_at_once},
    {"OP-004", "what-was-lent-is-left-alone", "OP-004", Profile::kSmoke, Start::kOpen,
     "Takes the arguments of operations away as they are completed, so that a late look at them faults",
     &lent_memory_is_left_alone},
    {"OP-005", "stages-are-a-few-words", "OP-005", Profile::kSmoke, Start::kOpen,
     "Reads the stages of operations that are done and of some that are refused", &stages_are_a_few_words},
    {"OP-006", "late-answers-come-all-the-same", "OP-006", Profile::kSmoke, Start::kOpen,
     "Begins operations whose deadline has passed, and expects each to be completed", &late_answers_come},
};

}  // namespace

CaseList op_cases() { return kOpCases; }

}  // namespace berth::conformance
