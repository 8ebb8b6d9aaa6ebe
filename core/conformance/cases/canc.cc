// CANC: cancellation and deadlines.
#include <fmt/format.h>

#include "core/conformance/programs.h"

namespace berth::conformance {
namespace {

Status cancelling_ends_the_program(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const plugin::OpId op, begin_beating(lab, made.ref));
  lab.bench().cancel(op);
  if (!lab.bench().wait(op, lab.patience())) return violated("a cancelled run was not completed");
  BERTH_CHECK_OK(beats_no_more(lab, made.ref, "after its run was cancelled"));
  return lab.gone(made.name);
}

Status is_as_told(Lab& lab, const std::string& name, const Outcome& outcome) {
  BERTH_TRY(const Found found, lab.looked_up(name));
  const bool there = found.presence == Presence::kPresent;
  if (outcome.done() && !there) return violated("a cancelled create is DONE, and there is no sandbox");
  const bool denied = outcome.outcome_class == OutcomeClass::kRejected ||
                      outcome.outcome_class == OutcomeClass::kFailedClean;
  if (denied && there) return violated(describe("a cancelled create", outcome) + "; and the sandbox exists");
  return {};
}

// Cancelled before, while and after the sandbox is made.
Status cancelled_create_is_followed_up(Lab& lab) {
  for (const int ms : {0, 1, 2, 5, 15, 40}) {
    const std::string name = lab.new_name();
    const plugin::OpId op = lab.begin_create(name);
    lab.bench().wait_until(std::chrono::milliseconds(ms), [&] { return lab.bench().complete(op); });
    lab.bench().cancel(op);
    if (!lab.bench().wait(op, lab.patience())) return violated("a cancelled create was not completed");
    BERTH_CHECK_OK(is_as_told(lab, name, lab.bench().record(op).reply.outcome));
    BERTH_CHECK_OK(lab.gone(name));
  }
  return {};
}

// What waits for input that does not come, for a reader who does not read, and for a program.
Status cancelled_operations_end(Lab& lab) {
  using plugin::Slot;
  BERTH_TRY(const Created made, lab.sandbox());
  const std::string large(1'000'000, 'x');
  const Answer<Nothing> put = lab.put_file(made.ref, {"/tmp/kit/large", 0644, large.size()}, large);
  if (!put.outcome.done()) return violated(describe("put_file", put.outcome));
  Treatment hungry;
  hungry.input_ends = false;
  Treatment blind;
  blind.reads = false;
  const auto end = [&lab](plugin::OpId op, std::string_view what) -> Status {
    lab.bench().wait_until(std::chrono::milliseconds(50), [] { return false; });
    lab.bench().cancel(op);
    if (lab.bench().wait(op, lab.patience())) return {};
    return violated(fmt::format("a {} that was cancelled was not completed", what));
  };
  BERTH_CHECK_OK(end(lab.begin(Slot::kPutFile, plugin::PutFileCall{made.ref, {"/tmp/kit/late", 0644, 9}}, hungry),
                     "put_file"));
  BERTH_CHECK_OK(end(lab.begin(Slot::kGetFile, plugin::GetFileCall{made.ref, {"/tmp/kit/large", 1 << 20}}, blind),
                     "get_file"));
  BERTH_TRY(const plugin::OpId run, begin_beating(lab, made.ref));
  BERTH_CHECK_OK(end(run, "run"));
  return lab.gone(made.name);
}

Status deadline_is_a_cancellation(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  Treatment short_of_time;
  short_of_time.deadline = lab.scaled(std::chrono::seconds(2));
  BERTH_TRY(const plugin::OpId op, begin_beating(lab, made.ref, short_of_time));
  if (!lab.bench().wait(op, short_of_time.deadline + lab.patience()))
    return violated("a run goes on after its operation's deadline");
  BERTH_CHECK_OK(beats_no_more(lab, made.ref, "after its run's deadline"));
  return lab.gone(made.name);
}

constexpr Case kCancCases[] = {
    {"CANC-001", "cancelling-ends-the-program", "CANC-001", Profile::kFull, Start::kOpen,
     "Cancels a run whose program heeds no signal, and looks whether it still writes",
     &cancelling_ends_the_program},
    {"CANC-002", "a-cancelled-create-is-followed-up", "CANC-002", Profile::kSmoke, Start::kOpen,
     "Cancels creates after 0 to 40 ms, and compares what they say with what is there",
     &cancelled_create_is_followed_up},
    {"CANC-003", "cancelled-operations-end", "CANC-003", Profile::kFull, Start::kOpen,
     "Cancels a put_file without input, a get_file without a reader and a run, and expects each to end",
     &cancelled_operations_end},
    {"CANC-004", "a-deadline-is-a-cancellation", "CANC-004", Profile::kFull, Start::kOpen,
     "Lets a run's deadline pass, and looks whether its program still writes", &deadline_is_a_cancellation},
};

}  // namespace

CaseList canc_cases() { return kCancCases; }

}  // namespace berth::conformance
