// `kill -9` of the host, and of the provider's worker, at each step of a call on the local provider
// and the real store: afterwards nothing runs, everything is settled, and nothing is charged that
// did not complete.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/store/host_process.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::HostProcess;
using test::value_of;

// Processes with the mark in their command line, other than hosts.
std::vector<std::string> processes_marked(const std::string& mark) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find("while :") != std::string::npos && line.find(mark) != std::string::npos)
      found.push_back(line);
  }
  return found;
}

class KilledHosts : public ::testing::TestWithParam<const char*> {
 protected:
  std::string mark() const { return state.path().filename().string(); }

  // Reconciles until nothing is unresolved: a dead host's worker may be on its way out.
  void settle() {
    for (int pass = 0; pass < 100; ++pass) {
      HostProcess host(BERTH_LOCAL_HOST, state.path(), {"reconcile"});
      const std::vector<std::string> lines = host.lines();
      ASSERT_EQ(host.end().exit_code, 0);
      const auto store = test::open_store({.path = state / "berth.db"});
      const IntentFilter filter{.unresolved_only = true};
      const auto open = value_of<std::vector<Intent>>(
          *store, [filter](Transaction& rows) { return rows.intents(filter); });
      if (open.empty() && lines.empty()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << "something stays unresolved or stray";
  }

  // At the end: what the store says of the one call.
  void check(bool was_reserved, bool completed) {
    settle();
    EXPECT_THAT(processes_marked(mark()), ::testing::IsEmpty());
    const auto store = test::open_store({.path = state / "berth.db"});
    const auto intents =
        value_of<std::vector<Intent>>(*store, [](Transaction& rows) { return rows.intents({}); });
    ASSERT_EQ(intents.size(), was_reserved ? 1u : 0u);
    const auto receipts =
        value_of<std::vector<Receipt>>(*store, [](Transaction& rows) { return rows.receipts({}); });
    ASSERT_EQ(receipts.size(), intents.size());
    const auto balance = [&store](std::string account) {
      return value_of<Money>(
          *store, [account](Transaction& rows) { return rows.ledger().balance(account); });
    };
    EXPECT_EQ(balance("usage"), completed ? Money::cents(5) : Money());
    EXPECT_EQ(balance("usage") + balance("owner:owner") + balance("grants"), Money());
    if (!was_reserved) return;
    EXPECT_EQ(intents[0].state, IntentState::kReleased);
    EXPECT_EQ(receipts[0].cost, completed ? Money::cents(5) : Money());
  }

  test::Folder state;
};

class HostKilledAt : public KilledHosts {};

TEST_P(HostKilledAt, ReconcileLeavesNothingAndChargesNothing) {
  const std::string point = GetParam();
  HostProcess host(BERTH_LOCAL_HOST, state.path(), {"run", "call"}, point);
  EXPECT_THAT(host.lines(), ::testing::IsEmpty());
  ASSERT_EQ(host.end().signal, SIGKILL) << "it never came to " << point;
  check(point != "before-commit:1", point == "after-commit:3");
}

INSTANTIATE_TEST_SUITE_P(Steps, HostKilledAt,
                         ::testing::Values("before-commit:1", "after-commit:1", "create", "created",
                                           "before-commit:2", "after-commit:2", "run", "ran",
                                           "destroy", "destroyed", "before-commit:3",
                                           "after-commit:3"),
                         [](const auto& point) {
                           std::string name = point.param;
                           for (char& c : name)
                             if (c == '-' || c == ':') c = '_';
                           return name;
                         });

class WorkerKilledAt : public KilledHosts {};

TEST_P(WorkerKilledAt, TheHostLivesOnAndNothingIsLeft) {
  const std::string point = GetParam();
  HostProcess host(BERTH_LOCAL_HOST, state.path(), {"run", "call"}, "worker:" + point);
  const std::vector<std::string> lines = host.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(host.end().exit_code, 0);
  // Before its command has ended, the call has failed; afterwards it depends on who was quicker.
  const bool completed = lines[0].starts_with("call completed");
  const bool must_fail = point == "create" || point == "created" || point == "run";
  EXPECT_FALSE(must_fail && completed) << lines[0];
  check(true, completed);
}

INSTANTIATE_TEST_SUITE_P(Steps, WorkerKilledAt,
                         ::testing::Values("create", "created", "run", "ran", "destroy",
                                           "destroyed"),
                         [](const auto& point) { return std::string(point.param); });

TEST_F(KilledHosts, AGoodCallIsTheMeasureOfTheOthers) {
  HostProcess host(BERTH_LOCAL_HOST, state.path(), {"run", "call"});
  EXPECT_THAT(host.lines(), ::testing::ElementsAre(::testing::StartsWith("call completed")));
  EXPECT_EQ(host.end().exit_code, 0);
  check(true, true);
}

}  // namespace
}  // namespace berth
