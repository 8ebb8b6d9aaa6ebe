// MEM and ERR: memory, bounds, and errors.
#include <fmt/format.h>

#include "core/conformance/exercise.h"

namespace berth::conformance {
namespace {

// ---- ERR

// A put_file whose contents come late, so that whoever serves it has to wait for them.
Status survives_forced_unwinding(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  lab.bench().host().unwind_next_task();
  plugin::Request request;
  request.slot = plugin::Slot::kPutFile;
  request.arguments = plugin::PutFileCall{made.ref, {"/tmp/kit/late", 0644, 4}};
  Treatment treatment;
  treatment.input_ends = false;
  const plugin::OpId op = lab.bench().start(std::move(request), std::move(treatment));
  const bool unwound = lab.bench().wait_until(lab.scaled(std::chrono::milliseconds(500)),
                                              [&lab] { return lab.bench().host().unwound(); });
  if (!unwound) {
    lab.bench().give(op, "late", true);
    lab.bench().wait(op, lab.patience());
    return lacking("it does not wait on a thread the host lends");
  }
  // Its thread is gone; the process must not be.
  lab.bench().wait_until(std::chrono::milliseconds(100), [] { return false; });
  const Status gone = lab.gone(made.name);
  lab.abandon();
  return gone;
}

Status says_why(const Outcome& outcome, std::string_view what) {
  if (outcome.done() || outcome.outcome_class == OutcomeClass::kUnset) return {};
  if (outcome.message.empty())
    return violated(fmt::format("{} ended {} without a message", what, to_string(outcome.outcome_class)));
  return {};
}

Status hides(const Lab& lab, std::string_view text, std::string_view where) {
  for (const auto& [variable, secret] : lab.secrets())
    if (text.find(secret) != std::string_view::npos)
      return violated(fmt::format("{} contains the value of {}", where, variable));
  return {};
}

Status errors_say_why(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  Command command;
  command.argv = {"python3", "-c", "print(1)"};
  const std::pair<const char*, Outcome> refusals[] = {
      {"a run in a sandbox that is none", lab.run("no-such-sandbox", command).outcome},
      {"get_file of a file that is not there", lab.get_file(made.ref, {"/tmp/kit/none", 4096}).outcome},
      {"put_file into a sandbox that is none",
       lab.put_file("no-such-sandbox", {"/tmp/kit/none", 0644, 1}, "x").outcome},
  };
  for (const auto& [what, outcome] : refusals) {
    if (outcome.done()) return violated(fmt::format("{} is DONE", what));
    BERTH_CHECK_OK(says_why(outcome, what));
    BERTH_CHECK_OK(hides(lab, outcome.message, fmt::format("the message of {}", what)));
  }
  BERTH_CHECK_OK(hides(lab, made.name + " " + made.ref, "the name or reference of a sandbox"));
  for (const std::string& line : lab.bench().log_lines()) BERTH_CHECK_OK(hides(lab, line, "a log line"));
  return lab.gone(made.name);
}

Status unknown_values_are_refused(Lab& lab) {
  const std::string name = lab.new_name();
  lab.bench().host().change_create([](berth_create_spec& spec) { spec.network = 4711; });
  const Answer<Created> made = lab.create(name);
  if (made.outcome.outcome_class != OutcomeClass::kRejected)
    return violated(describe("create with a network that this version does not have", made.outcome));
  lab.forget(name);
  BERTH_TRY(const Found found, lab.looked_up(name));
  if (found.presence == Presence::kPresent)
    return violated("create with an unknown network was REJECTED and made a sandbox");
  BERTH_TRY(const Created other, lab.sandbox());
  lab.bench().host().change_command([](berth_command& command) { command.stdin_source = 4711; });
  Command command;
  command.argv = {"python3", "-c", "print(1)"};
  const Lab::Ran ran = lab.run(other.ref, command);
  if (ran.outcome.outcome_class != OutcomeClass::kRejected)
    return violated(describe("run with a source of input that this version does not have", ran.outcome));
  return lab.gone(other.name);
}

#define BERTH_WATCHED_CASE(clause, slug, sentence) \
  Case { clause, slug, clause, Profile::kSmoke, Start::kOpen, sentence, &exercise }

constexpr Case kMemCases[] = {
    BERTH_WATCHED_CASE("MEM-001", "a-length-comes-with-an-address",
                       "Goes through every slot and looks at every text that is handed back"),
    BERTH_WATCHED_CASE("MEM-003", "sizes-are-the-senders",
                       "Goes through every slot and looks at the size of every struct and list element"),
    BERTH_WATCHED_CASE("MEM-004", "reserved-fields-are-zero",
                       "Goes through every slot and looks at every reserved field"),
    BERTH_WATCHED_CASE("MEM-005", "text-is-utf-8-without-nul",
                       "Goes through every slot and decodes every text that is handed back"),
    BERTH_WATCHED_CASE("MEM-006", "bounds-hold", "Goes through every slot and measures what is handed back"),
    BERTH_WATCHED_CASE("ERR-001", "no-exception-comes-out",
                       "Goes through every slot with a host that counts exceptions"),
    {"ERR-002", "forced-unwinding-goes-on", "ERR-002", Profile::kFull, Start::kOpen,
     "Unwinds the thread that waits for the contents of a file by force, and expects the process to live",
     &survives_forced_unwinding},
    {"ERR-003", "errors-say-why-and-hide-secrets", "ERR-003", Profile::kSmoke, Start::kOpen,
     "Provokes refusals, expects a message with each, and looks for declared secrets in messages, names and log",
     &errors_say_why},
    {"ERR-004", "unknown-values-are-refused", "ERR-004", Profile::kSmoke, Start::kOpen,
     "Asks for a network and a source of input of some later version, and expects REJECTED and no sandbox",
     &unknown_values_are_refused},
};

#undef BERTH_WATCHED_CASE

}  // namespace

CaseList mem_cases() { return kMemCases; }

}  // namespace berth::conformance
