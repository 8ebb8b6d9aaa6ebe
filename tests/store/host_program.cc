#include "tests/store/host_program.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/accounting/credits.h"
#include "core/lifecycle/reconcile.h"
#include "core/lifecycle/system_clock.h"
#include "core/lifecycle/with_sandbox.h"
#include "core/os/fd.h"
#include "core/store/host_lock.h"
#include "core/store/sqlite/sqlite_store.h"
#include "tests/store/good_run.h"
#include "tests/store/step_provider.h"

namespace berth::test {
namespace {

void print(const std::string& line) { (void)os::write_all(STDOUT_FILENO, line + "\n"); }

std::string wanted() {
  const char* set = std::getenv("BERTH_TEST_KILL");
  return set == nullptr ? "" : set;
}

void kill_if(const std::string& point) {
  if (point == wanted()) ::kill(::getpid(), SIGKILL);
  if ("stop:" + point == wanted()) {
    print("stopped at " + point);
    for (;;) ::pause();
  }
}

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "host: {}\n", error.message());
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

Task<BodyResult> run_once(Sandbox& sandbox, std::vector<std::string> argv) {
  NoOutput output;
  Command command;
  command.argv = std::move(argv);
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
    case CallEnd::Status::kCompleted:
      return "completed";
    case CallEnd::Status::kCancelled:
      return "cancelled";
    case CallEnd::Status::kInfrastructureError:
      return "infrastructure";
    case CallEnd::Status::kRefused:
      return "refused";
    case CallEnd::Status::kUncertain:
      return "uncertain";
  }
  return "";
}

Task<void> call(LifecycleServices& services, std::string id, std::vector<std::string> argv) {
  SandboxRequest request;
  request.key = {"owner", "session", id};
  request.spec_canonical = "{}";
  Body body = [argv](Sandbox& sandbox) { return run_once(sandbox, argv); };
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
    const Status done = co_await good_run(store, number, owner);
    if (!done) give_up(done.error());
    print(fmt::format("{} {}", owner, number));
  }
}

struct Host {
  std::filesystem::path state;
  std::unique_ptr<HostLock> lock;
  std::unique_ptr<SqliteStore> store;
};

Task<void> calls_of(LifecycleServices& services, const HostProgram& program,
                    std::vector<std::string> ids) {
  const auto executor = co_await boost::asio::this_coro::executor;
  std::size_t open = ids.size();
  for (const std::string& id : ids) {
    boost::asio::co_spawn(executor, call(services, id, program.command),
                          [&open](const std::exception_ptr&) { --open; });
  }
  SystemClock clock;
  while (open > 0) co_await clock.sleep_until(clock.now() + std::chrono::milliseconds(5), nullptr);
}

Task<void> serve(const HostProgram& program, Host& host, std::vector<std::string> arguments) {
  const auto executor = co_await boost::asio::this_coro::executor;
  const std::unique_ptr<HostProgramProvider> opened =
      co_await program.open_provider(executor, host.state, host.lock->host_tag());
  StepProvider provider(opened->provider(), [&opened](std::string_view step) {
    kill_if(std::string(step));
    if (wanted() != "worker:" + std::string(step)) return;
    for (const int pid : opened->worker_pids()) ::kill(pid, SIGKILL);
  });
  KillingStore store(*host.store);
  SystemClock clock;
  Credits credits({.initial_grant = Money::cents(100'000)});
  LifecycleServices services{.store = store,
                             .provider = provider,
                             .clock = clock,
                             .holders = *host.lock,
                             .self = host.lock->holder(),
                             .host_tag = host.lock->host_tag(),
                             .billing = &credits};
  const std::string what = arguments[0];
  arguments.erase(arguments.begin());
  if (what == "run") {
    co_await calls_of(services, program, std::move(arguments));
  } else {
    co_await pass(services);
  }
  co_await opened->close();
}

}  // namespace

int run_host_program(const HostProgram& program, int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: STATE run CALL... | reconcile | units OWNER N\n");
    return 2;
  }
  Host host{argv[1], {}, {}};
  const std::vector<std::string> arguments(argv + 2, argv + argc);
  auto lock = HostLock::acquire(host.state);
  if (!lock) give_up(lock.error());
  host.lock = std::move(*lock);
  auto store = SqliteStore::open({.path = host.state / "berth.db"});
  if (!store) give_up(store.error());
  host.store = std::move(*store);
  boost::asio::io_context loop(1);
  long next = 0;
  if (arguments[0] == "units") {
    const long count = std::atol(arguments.at(2).c_str());
    for (int i = 0; i < 4; ++i)
      boost::asio::co_spawn(loop, units(*host.store, arguments[1], next, count),
                            boost::asio::detached);
  } else {
    boost::asio::co_spawn(loop, serve(program, host, arguments), boost::asio::detached);
  }
  loop.run();
  return 0;
}

}  // namespace berth::test
