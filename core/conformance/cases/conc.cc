// CONC: several operations at once.
#include <fmt/format.h>

#include <algorithm>

#include "core/conformance/lab.h"
#include "core/conformance/process_state.h"

namespace berth::conformance {
namespace {

using plugin::OpId;

constexpr std::size_t kAtOnceMax = 6;
// Says that it runs, and runs until its input ends.
constexpr char kWaits[] = "import sys; print('up', flush=True); sys.stdin.read()";

struct Waiting {
  Bench& bench;
  OpId op;

  bool up() { return bench.record(op).bytes_of(Stream::kStdout) == "up\n"; }
  void let_go() { bench.give(op, "", true); }
};

Waiting start_waiting(Lab& lab, const std::string& ref) {
  plugin::RunCall call{ref, {}};
  call.command.argv = {"python3", "-c", kWaits};
  plugin::Request request;
  request.slot = plugin::Slot::kRun;
  request.arguments = std::move(call);
  Treatment treatment;
  treatment.input_ends = false;
  return {lab.bench(), lab.bench().start(std::move(request), std::move(treatment))};
}

Status all_come_up(Lab& lab, std::vector<Waiting>& runs, std::string_view what) {
  const auto up = [&runs] { return std::all_of(runs.begin(), runs.end(), [](Waiting& one) { return one.up(); }); };
  if (lab.bench().wait_until(lab.patience(), up)) return {};
  const auto count = std::count_if(runs.begin(), runs.end(), [](Waiting& one) { return one.up(); });
  for (Waiting& one : runs) one.let_go();
  return violated(fmt::format("of {} programs {} only {} run at once", runs.size(), what, count));
}

Status all_end(Lab& lab, std::vector<Waiting>& runs) {
  for (Waiting& one : runs) one.let_go();
  for (Waiting& one : runs) {
    if (!lab.bench().wait(one.op, lab.patience())) return violated("a program whose input ended goes on");
    const Outcome outcome = lab.bench().record(one.op).reply.outcome;
    if (!outcome.done()) return violated(describe("run", outcome));
  }
  return {};
}

Status as_many_as_declared(Lab& lab) {
  const std::size_t count = std::min<std::size_t>(kAtOnceMax, lab.manifest().concurrency_per_provider);
  std::vector<std::string> names;
  std::vector<Waiting> runs;
  for (std::size_t i = 0; i < count; ++i) {
    BERTH_TRY(const Created made, lab.sandbox());
    names.push_back(made.name);
    runs.push_back(start_waiting(lab, made.ref));
  }
  BERTH_CHECK_OK(all_come_up(lab, runs, "in sandboxes of their own"));
  BERTH_CHECK_OK(all_end(lab, runs));
  for (const std::string& name : names) BERTH_CHECK_OK(lab.gone(name));
  return {};
}

Status sandboxes_do_not_wait(Lab& lab) {
  if (lab.manifest().concurrency_per_provider < 2) return lacking("it declares one operation at a time");
  BERTH_TRY(const Created busy, lab.sandbox());
  BERTH_TRY(const Created free, lab.sandbox());
  std::vector<Waiting> runs{start_waiting(lab, busy.ref)};
  BERTH_CHECK_OK(all_come_up(lab, runs, "in a sandbox"));
  const std::string bytes = "while the other runs";
  const Answer<Nothing> put = lab.put_file(free.ref, {"/tmp/kit/free", 0644, bytes.size()}, bytes);
  if (!put.outcome.done())
    return violated(describe("put_file while a program runs in another sandbox", put.outcome));
  BERTH_CHECK_OK(lab.python(free.ref, "print(1)"));
  BERTH_CHECK_OK(lab.gone(free.name));
  BERTH_CHECK_OK(all_end(lab, runs));
  return lab.gone(busy.name);
}

Status threads_end(Lab& lab) {
  const std::size_t before = threads().size();
  BERTH_CHECK_OK(lab.open());
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_CHECK_OK(lab.python(made.ref, "print(1)"));
  BERTH_CHECK_OK(lab.gone(made.name));
  BERTH_CHECK_OK(lab.shut_down());
  lab.bench().close_threads();
  const auto after = threads();
  if (after.size() > before)
    return violated(fmt::format("{} threads are left after shutdown completed", after.size() - before));
  return {};
}

Status several_in_one_sandbox(Lab& lab) {
  const std::size_t count = std::min<std::size_t>(kAtOnceMax, lab.manifest().concurrency_per_sandbox);
  BERTH_TRY(const Created made, lab.sandbox());
  std::vector<Waiting> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back(start_waiting(lab, made.ref));
  BERTH_CHECK_OK(all_come_up(lab, runs, "in one sandbox"));
  const Answer<Found> found = lab.lookup(made.name);
  if (!found.outcome.done() || found.value.presence != Presence::kPresent)
    return violated(describe("lookup of a sandbox that is as busy as it may be", found.outcome));
  BERTH_CHECK_OK(all_end(lab, runs));
  return lab.gone(made.name);
}

constexpr Case kConcCases[] = {
    {"CONC-001", "as-many-run-as-declared", "CONC-001", Profile::kFull, Start::kOpen,
     "Starts as many programs as the provider declares, at most six, and expects all to run at once",
     &as_many_as_declared},
    {"CONC-002", "sandboxes-do-not-wait-for-each-other", "CONC-002", Profile::kFull, Start::kOpen,
     "Puts a file into one sandbox, runs a program in it and destroys it while a program runs in another",
     &sandboxes_do_not_wait},
    {"CONC-003", "threads-end-with-shutdown", "CONC-003", Profile::kFull, Start::kLoaded,
     "Counts the process's threads before open and after shutdown", &threads_end},
    {"CONC-004", "a-busy-sandbox-is-still-found", "CONC-004", Profile::kFull, Start::kOpen,
     "Starts as many programs in one sandbox as may be, expects all to run, and looks the sandbox up meanwhile",
     &several_in_one_sandbox},
};

}  // namespace

CaseList conc_cases() { return kConcCases; }

}  // namespace berth::conformance
