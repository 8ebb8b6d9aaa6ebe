// A host as a process of its own, for tests that start several and kill them:
//
//   store_host STATE run CALL...      the calls of one session, all at once; a line for each answer
//   store_host STATE reconcile        one pass over everything
//   store_host STATE units OWNER N    N good runs on the store alone, four at a time
//
// BERTH_TEST_KILL names the point where it kills itself as `kill -9` would: "before-commit:N",
// "after-commit:N" (the Nth commit of this process), or a step of the provider. "stop:STEP" says so
// and waits there for ever.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/accounting/credits.h"
#include "core/lifecycle/reconcile.h"
#include "core/lifecycle/system_clock.h"
#include "core/lifecycle/with_sandbox.h"
#include "core/os/fd.h"
#include "core/store/host_lock.h"
#include "core/store/sqlite/sqlite_store.h"
#include "tests/store/folder_provider.h"
#include "tests/store/good_run.h"

namespace berth {
namespace {

void print(const std::string& line) { (void)os::write_all(STDOUT_FILENO, line + "\n"); }

void kill_if(const std::string& point) {
  const char* set = std::getenv("BERTH_TEST_KILL");
  const std::string wanted = set == nullptr ? "" : set;
  if (point == wanted) ::kill(::getpid(), SIGKILL);
  if ("stop:" + point == wanted) {
    print("stopped at " + point);
    for (;;) ::pause();
  }
}

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "store_host: {}\n", error.message());
  std::exit(1);
}

class KillingStore final : public Store {
 public:
  explicit KillingStore(Store& inner) : inner_(inner) {}
  Task<Status> commit(UnitOfWork work) override {
    const int number = ++commits_;
    kill_if(fmt::format("before-commit:{}", number));
    Status done = co_await inner_.commit(std::move(work));
    kill_if(fmt::format("after-commit:{}", number));
    co_return done;
  }
  Task<Status> read(UnitOfWork work) override { return inner_.read(std::move(work)); }

 private:
  Store& inner_;
  int commits_ = 0;
};

class NoOutput final : public OutputSink {
 public:
  Flow write(Stream, std::string_view) override { return Flow::kContinue; }
  void on_resume(std::function<void()>) override {}
};

Task<BodyResult> run_once(Sandbox& sandbox) {
  NoOutput output;
  Command command;
  command.argv = {"true"};
  const Answer<RunEnd> end = co_await sandbox.run(command, output);
  BodyResult result;
  if (!end.outcome.done()) {
    result.message = end.outcome.message;
    co_return result;
  }
  result.kind = BodyResult::Kind::kCompleted;
  result.document = "{}";
  result.run_end = end.value;
  co_return result;
}

std::string word(CallEnd::Status status) {
  switch (status) {
    case CallEnd::Status::kCompleted: return "completed";
    case CallEnd::Status::kCancelled: return "cancelled";
    case CallEnd::Status::kInfrastructureError: return "infrastructure";
    case CallEnd::Status::kRefused: return "refused";
    case CallEnd::Status::kUncertain: return "uncertain";
  }
  return "";
}

Task<void> call(LifecycleServices& services, std::string id) {
  SandboxRequest request;
  request.key = {"owner", "session", id};
  request.spec_canonical = "{}";
  Body body = run_once;
  const CallEnd end = co_await with_sandbox(services, std::move(request), std::move(body));
  print(fmt::format("{} {}{} {}", id, word(end.status), end.replayed ? "-again" : "", end.message));
}

Task<void> pass(LifecycleServices& services) {
  ReconcileOptions options;
  options.sweep = true;
  const auto report = co_await reconcile(services, std::move(options));
  if (!report) give_up(report.error());
  for (const ReconciledIntent& intent : report->intents)
    print(fmt::format("{} {} {}", intent.name, to_string(intent.result), intent.detail));
  for (const StrayResource& stray : report->strays) print("stray " + stray.listed.name);
  if (!report->sweep_error.empty()) print("sweep " + report->sweep_error);
}

Task<void> units(Store& store, std::string owner, long& next, long count) {
  while (next < count) {
    const long number = next++;
    const Status done = co_await test::good_run(store, number, owner);
    if (!done) give_up(done.error());
    print(fmt::format("{} {}", owner, number));
  }
}

int host(const std::filesystem::path& state, const std::vector<std::string>& arguments) {
  auto lock = HostLock::acquire(state);
  if (!lock) give_up(lock.error());
  auto opened = SqliteStore::open({.path = state / "berth.db"});
  if (!opened) give_up(opened.error());
  KillingStore store(**opened);
  test::FolderProvider provider(state / "cloud", [](std::string_view step) {
    kill_if(std::string(step));
  });
  SystemClock clock;
  Credits credits({.initial_grant = Money::cents(100'000)});
  LifecycleServices services{.store = store,
                             .provider = provider,
                             .clock = clock,
                             .holders = **lock,
                             .self = (*lock)->holder(),
                             .host_tag = (*lock)->host_tag(),
                             .billing = &credits};
  boost::asio::io_context loop(1);
  long next = 0;
  if (arguments[0] == "run") {
    for (std::size_t i = 1; i < arguments.size(); ++i)
      boost::asio::co_spawn(loop, call(services, arguments[i]), boost::asio::detached);
  } else if (arguments[0] == "reconcile") {
    boost::asio::co_spawn(loop, pass(services), boost::asio::detached);
  } else {
    for (int i = 0; i < 4; ++i)
      boost::asio::co_spawn(loop, units(**opened, arguments[1], next, std::atol(arguments[2].c_str())),
                            boost::asio::detached);
  }
  loop.run();
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: store_host STATE run CALL... | reconcile | units OWNER N\n");
    return 2;
  }
  return berth::host(argv[1], std::vector<std::string>(argv + 2, argv + argc));
}
