// SHUT, LEAK, USE and EXT: the end of a provider, and what it leaves.
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "core/conformance/lab.h"
#include "core/conformance/process_state.h"

namespace berth::conformance {
namespace {

// ---- SHUT

// After shutdown, in another process.
Status destroy_elsewhere(Lab& lab, const std::string& name) {
  BERTH_TRY(const auto fresh, lab.fresh());
  const Answer<Destroyed> gone = fresh->destroy(name);
  if (!gone.outcome.done()) return violated(describe("destroy in a fresh process", gone.outcome));
  lab.forget(name);
  fresh->close();
  return {};
}

Status shutdown_waits(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  plugin::Request put;
  put.slot = plugin::Slot::kPutFile;
  put.arguments = plugin::PutFileCall{made.ref, {"/tmp/kit/last", 0644, 4}};
  Treatment treatment;
  treatment.input_ends = false;
  const plugin::OpId open = lab.bench().start(std::move(put), std::move(treatment));
  plugin::Request request;
  request.slot = plugin::Slot::kShutdown;
  const plugin::OpId shutdown = lab.bench().start(std::move(request));
  lab.bench().wait_until(std::chrono::milliseconds(100), [] { return false; });
  const bool early = lab.bench().complete(shutdown) && !lab.bench().complete(open);
  lab.bench().give(open, "last", true);
  lab.shut_by_hand();
  if (early) return violated("shutdown completed while a put_file was open");
  if (!lab.bench().wait(open, lab.patience()))
    return violated("an operation that was open at shutdown never completed");
  if (!lab.bench().wait(shutdown, lab.patience())) return violated("shutdown never completed");
  // Whatever is called from here on is held against this clause.
  lab.bench().wait_until(std::chrono::milliseconds(50), [] { return false; });
  return destroy_elsewhere(lab, made.name);
}

Status shutdown_ends_no_sandbox(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_CHECK_OK(lab.shut_down());
  BERTH_TRY(const auto fresh, lab.fresh());
  const Answer<Found> found = fresh->lookup(made.name);
  if (!found.outcome.done()) return violated(describe("lookup in a fresh process", found.outcome));
  if (found.value.presence != Presence::kPresent)
    return violated("after shutdown the sandbox is not found any more");
  fresh->close();
  return destroy_elsewhere(lab, made.name);
}

// ---- LEAK

Status work(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  const std::string bytes(100'000, 'x');
  const Answer<Nothing> put = lab.put_file(made.ref, {"/tmp/kit/work", 0644, bytes.size()}, bytes);
  if (!put.outcome.done()) return violated(describe("put_file", put.outcome));
  const Lab::Got got = lab.get_file(made.ref, {"/tmp/kit/work", 1 << 20});
  if (!got.outcome.done()) return violated(describe("get_file", got.outcome));
  BERTH_CHECK_OK(lab.python(made.ref, "print(1)"));
  return lab.gone(made.name);
}

std::string first_new(const std::map<int, std::string>& before, const std::map<int, std::string>& after) {
  for (const auto& [fd, what] : after)
    if (!before.contains(fd)) return fmt::format("descriptor {} ({})", fd, what);
  return {};
}

Status leaves_nothing(Lab& lab) {
  const std::filesystem::path temporary = lab.subject().request.folder / "t";
  std::error_code ignored;
  std::filesystem::create_directories(temporary, ignored);
  ::setenv("TMPDIR", temporary.c_str(), 1);
  const auto descriptors = open_descriptors();
  const auto below = children();
  const auto mounted = mounts();
  BERTH_CHECK_OK(lab.open());
  BERTH_CHECK_OK(work(lab));
  BERTH_CHECK_OK(work(lab));
  BERTH_CHECK_OK(lab.shut_down());
  lab.bench().close_threads();
  if (const std::string left = first_new(descriptors, open_descriptors()); !left.empty())
    return violated(left + " is still open after shutdown");
  const auto ended = [&below] { return children().size() <= below.size(); };
  if (!lab.bench().wait_until(lab.scaled(std::chrono::milliseconds(500)), ended))
    return violated(fmt::format("{} processes are left after shutdown", children().size() - below.size()));
  for (const std::string& one : mounts())
    if (!mounted.contains(one)) return violated(fmt::format("{} is still mounted after shutdown", one));
  for (const auto& entry : std::filesystem::directory_iterator(temporary, ignored))
    return violated(fmt::format("the temporary file {} is left after shutdown",
                                entry.path().filename().string()));
  return {};
}

Status descriptors_close_on_exec(Lab& lab) {
  const auto before = open_descriptors();
  BERTH_CHECK_OK(lab.open());
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_CHECK_OK(lab.python(made.ref, "print(1)"));
  for (const auto& [fd, what] : open_descriptors()) {
    if (before.contains(fd)) continue;
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
      return violated(fmt::format("descriptor {} ({}) is not close-on-exec", fd, what));
  }
  return lab.gone(made.name);
}

// ---- USE

struct Counter {
  const char* name;
  std::optional<std::uint64_t> UsageCounters::* value;
};
constexpr Counter kCounters[] = {{"wall_ns", &UsageCounters::wall_ns},
                                 {"cpu_ns", &UsageCounters::cpu_ns},
                                 {"memory_peak_bytes", &UsageCounters::memory_peak_bytes},
                                 {"network_egress_bytes", &UsageCounters::network_egress_bytes},
                                 {"cost_micro_usd", &UsageCounters::cost_micro_usd}};

Status grows(const UsageCounters& before, const UsageCounters& after) {
  if (before.epoch != after.epoch) return {};
  for (const Counter& counter : kCounters) {
    const auto was = before.*counter.value;
    const auto is = after.*counter.value;
    if (was && is && *is < *was)
      return violated(fmt::format("{} went from {} back to {} within one epoch", counter.name, *was, *is));
  }
  return {};
}

Status usage_only_grows(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Lab::Ran busy, lab.python(made.ref, "x = 0\nfor i in range(2000000): x += i"));
  BERTH_TRY(const Lab::Ran idle, lab.python(made.ref, "pass"));
  BERTH_CHECK_OK(grows(busy.end.usage, idle.end.usage));
  if (busy.end.usage.wall_ns == std::uint64_t{0} || busy.end.usage.cpu_ns == std::uint64_t{0})
    return violated("a program that worked for some time is reported to have used none");
  const Answer<Destroyed> gone = lab.destroy(made.name);
  if (!gone.outcome.done()) return violated(describe("destroy", gone.outcome));
  return grows(busy.end.usage, gone.value.usage);
}

// ---- EXT

Status extensions_answer_the_same(Lab& lab) {
  ScriptedHost& host = lab.bench().host();
  std::map<std::string, const void*> known;
  for (const std::string& id : lab.manifest().extensions) known[id] = host.extension(id);
  BERTH_CHECK_OK(lab.open());
  for (const auto& [id, table] : known) {
    if (host.extension(id) != table)
      return violated(fmt::format("get_extension answers {} otherwise after open", id));
    for (const std::string& other : {id + "x", id + "/1", id.substr(0, id.size() - 1)})
      if (host.extension(other) != nullptr)
        return violated(fmt::format("get_extension answers {}, which is no extension", other));
  }
  for (const std::string_view unknown : {"", "berth.", "berth.files/1x", "berth.files/999", "x", "berth.nothing/1"})
    if (!known.contains(std::string(unknown)) && host.extension(unknown) != nullptr)
      return violated(fmt::format("get_extension answers \"{}\", which is no extension", unknown));
  return {};
}

constexpr Case kShutCases[] = {
    {"USE-001", "usage-only-grows", "USE-001", Profile::kFull, Start::kOpen,
     "Compares the counters of two programs and of the sandbox where they share an epoch, and looks for a zero that "
     "cannot be", &usage_only_grows},
    {"EXT-001", "extensions-answer-the-same", "EXT-001", Profile::kSmoke, Start::kLoaded,
     "Asks for extensions before and after open, and for ids that are almost one", &extensions_answer_the_same},
    {"SHUT-001", "shutdown-waits-and-is-the-end", "SHUT-001", Profile::kFull, Start::kOpen,
     "Shuts down while a put_file waits for its contents, and watches what completes first and what comes after",
     &shutdown_waits},
    {"SHUT-002", "shutdown-ends-no-sandbox", "SHUT-002", Profile::kFull, Start::kOpen,
     "Shuts down, looks the sandbox up in a fresh process and destroys it there", &shutdown_ends_no_sandbox},
    {"LEAK-001", "nothing-is-left-behind", "LEAK-001", Profile::kFull, Start::kLoaded,
     "Opens, works and shuts down, and compares descriptors, processes, mounts and temporary files",
     &leaves_nothing},
    {"LEAK-002", "descriptors-are-close-on-exec", "LEAK-002", Profile::kFull, Start::kLoaded,
     "Looks at every descriptor that was opened since loading", &descriptors_close_on_exec},
};

}  // namespace

CaseList shut_cases() { return kShutCases; }

}  // namespace berth::conformance
