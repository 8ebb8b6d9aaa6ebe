// FAULT: what exists after workers died and answers were lost.
//
// However an operation ended, every sandbox that exists belongs to a name that may have one: nothing
// is unaccounted for.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/conformance/fault_host.h"
#include "core/conformance/lab.h"

namespace berth::conformance {
namespace {

using plugin::Slot;

// What the host knows of each name it has asked for.
struct Books {
  std::map<std::string, Outcome> creates;
  std::map<std::string, Outcome> destroys;

  bool may_exist(const std::string& name) const {
    const OutcomeClass made = creates.at(name).outcome_class;
    const auto ended = destroys.find(name);
    if (ended != destroys.end() && ended->second.done()) return false;
    return made != OutcomeClass::kRejected && made != OutcomeClass::kFailedClean;
  }
  bool must_exist(const std::string& name) const {
    return creates.at(name).done() && !destroys.contains(name);
  }
};

Status compare(const Books& books, const std::string& name, FreshProcess& fresh, bool listed) {
  const Answer<Found> found = fresh.lookup(name);
  if (!found.outcome.done()) return violated(describe("lookup in a fresh process", found.outcome));
  const bool present = found.value.presence == Presence::kPresent;
  const std::string_view made = to_string(books.creates.at(name).outcome_class);
  if (present && !books.may_exist(name))
    return violated(fmt::format("a sandbox exists whose create ended {} or whose destroy was DONE", made));
  if (!present && books.must_exist(name))
    return violated("a sandbox whose create was DONE is not found by its name");
  if (listed && !present && found.value.presence == Presence::kAbsentNow)
    return violated("list_owned has a sandbox that lookup calls absent");
  return {};
}

// Counts what exists, in a process that knows nothing but names; then ends all of it.
Status account_for(Lab& lab, const Books& books) {
  BERTH_TRY(const auto fresh, lab.fresh());
  const auto listed = fresh->list_owned(lab.owner_tag());
  if (!listed.outcome.done()) return violated(describe("list_owned in a fresh process", listed.outcome));
  std::map<std::string, int> times;
  for (const Listed& item : listed.value) ++times[item.name];
  for (const auto& [name, count] : times) {
    if (!books.creates.contains(name))
      return violated(fmt::format("a sandbox named \"{}\" carries the tag, and nobody asked for it", name));
    if (count != 1) return violated(fmt::format("{} sandboxes carry one name", count));
  }
  for (const auto& [name, outcome] : books.creates)
    BERTH_CHECK_OK(compare(books, name, *fresh, times.contains(name)));
  for (const auto& [name, outcome] : books.creates) {
    const Answer<Destroyed> gone = fresh->destroy(name);
    if (!gone.outcome.done()) return violated(describe("destroy in a fresh process", gone.outcome));
  }
  const auto after = fresh->list_owned(lab.owner_tag());
  if (!after.outcome.done()) return violated(describe("list_owned in a fresh process", after.outcome));
  if (!after.value.empty()) return violated("after every name was destroyed a sandbox still carries the tag");
  fresh->close();
  return {};
}

// ---- Tiny deadlines

Status tiny_deadlines(Lab& lab) {
  BERTH_TRY(const auto host, FaultHost::start(lab.subject(), lab.progress()));
  Books books;
  constexpr int kAttempts = 12;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = lab.new_name();
    host->set_deadline(std::chrono::microseconds(100) * (1 << (attempt % 6)));
    books.creates[name] = host->create(name, Lab::plain_spec());
    if (attempt % 3 == 2) books.destroys[name] = host->destroy(name);
  }
  host->close();
  return account_for(lab, books);
}

// ---- Workers that die

// One operation of `slot` with the fault, on a sandbox of its own; the worker's replacement does what
// comes before and after.
Status with_fault(Lab& lab, FaultHost& host, FaultPlan plan, Books& books) {
  std::string name;
  std::string ref;
  host.plan(plan.slot == Slot::kCreate ? plan : FaultPlan{});
  // A worker killed for an earlier operation may still take this one with it.
  for (int attempt = 0; attempt < 4; ++attempt) {
    name = lab.new_name();
    books.creates[name] = host.create(name, Lab::plain_spec(), &ref);
    if (plan.slot == Slot::kCreate) return {};
    const OutcomeCode code = books.creates[name].code;
    if (code != OutcomeCode::kHostWorkerDied && code != OutcomeCode::kHostUnsent) break;
  }
  if (!books.creates[name].done())
    return violated(describe("create after a worker died", books.creates[name]));
  host.plan(plan);
  Command command;
  command.argv = {"python3", "-c", "import time; time.sleep(0.05)"};
  switch (plan.slot) {
    case Slot::kLookup: static_cast<void>(host.lookup(name)); break;
    case Slot::kRun: static_cast<void>(host.run(ref, std::move(command))); break;
    case Slot::kPutFile: static_cast<void>(host.put_file(ref, {"/tmp/kit/f", 0644, 3}, "abc")); break;
    case Slot::kGetFile: static_cast<void>(host.get_file(ref, {"/tmp/kit/f", 1 << 20})); break;
    case Slot::kListOwned: static_cast<void>(host.list_owned(lab.owner_tag())); break;
    case Slot::kDestroy: books.destroys[name] = host.destroy(name); break;
    default: break;
  }
  return {};
}

constexpr Slot kSlots[] = {Slot::kCreate,  Slot::kDestroy, Slot::kLookup,   Slot::kRun,
                           Slot::kPutFile, Slot::kGetFile, Slot::kListOwned};

Status workers_die(Lab& lab) {
  BERTH_TRY(const auto host, FaultHost::start(lab.subject(), lab.progress()));
  Books books;
  for (const Slot slot : kSlots) {
    const int rounds = slot == Slot::kCreate || slot == Slot::kDestroy ? 3 : 1;
    for (int round = 0; round < rounds; ++round) {
      const Duration after = std::chrono::microseconds(lab.random()() % 3000);
      BERTH_CHECK_OK(with_fault(lab, *host, {Fault::kKill, slot, after}, books));
    }
    BERTH_CHECK_OK(with_fault(lab, *host, {Fault::kKillAtReply, slot}, books));
  }
  // A sandbox may die with the worker that made it: what was DONE need not be found any more.
  for (auto& [name, outcome] : books.creates)
    if (outcome.done()) outcome.outcome_class = OutcomeClass::kUncertain;
  host->kill();
  return account_for(lab, books);
}

// ---- Answers that are lost, or come twice

Status answers_get_lost(Lab& lab) {
  BERTH_TRY(const auto host, FaultHost::start(lab.subject(), lab.progress()));
  Books books;
  host->set_deadline(lab.scaled(std::chrono::milliseconds(300)));
  for (const Slot slot : {Slot::kCreate, Slot::kDestroy})
    BERTH_CHECK_OK(with_fault(lab, *host, {Fault::kDropReply, slot}, books));
  host->set_deadline(lab.scaled(std::chrono::seconds(10)));
  for (const Slot slot : kSlots) BERTH_CHECK_OK(with_fault(lab, *host, {Fault::kRepeatReply, slot}, books));
  host->close();
  // What was uncertain is asked for again, by a host that knows nothing but the name.
  BERTH_TRY(const auto again, lab.fresh());
  for (auto& [name, outcome] : books.creates) {
    if (outcome.outcome_class != OutcomeClass::kUncertain) continue;
    const Answer<Created> made = again->create(name, Lab::plain_spec());
    outcome = made.outcome;
    if (made.outcome.done() && made.value.name != name)
      return violated("a create that is repeated in another process answers with another name");
  }
  again->close();
  for (auto& [name, outcome] : books.creates)
    if (outcome.done()) outcome.outcome_class = OutcomeClass::kUncertain;
  return account_for(lab, books);
}

constexpr Case kFaultCases[] = {
    {"FAULT-001", "tiny-deadlines-lose-nothing", "OUT-007", Profile::kFull, Start::kFile,
     "Creates and destroys with deadlines of a tenth of a millisecond and more, then counts what exists by name and "
     "by tag", &tiny_deadlines},
    {"FAULT-002", "dead-workers-lose-nothing", "CLEAN-002", Profile::kFull, Start::kFile,
     "Kills the worker inside every slot and at its answer, then counts what exists and ends it by name",
     &workers_die},
    {"FAULT-003", "lost-answers-lose-nothing", "KEY-001", Profile::kFull, Start::kFile,
     "Loses answers and repeats others on their way, asks again in a fresh process, and counts what exists",
     &answers_get_lost},
};

}  // namespace

CaseList fault_cases() { return kFaultCases; }

}  // namespace berth::conformance
