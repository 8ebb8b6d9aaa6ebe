// Several hosts as real processes on one store, and hosts that are killed at every step.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/store/folder_provider.h"
#include "tests/store/good_run.h"
#include "tests/store/host_process.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::FolderProvider;
using test::HostProcess;
using test::value_of;

class Processes : public ::testing::Test {
 protected:
  // Runs one to its end; its lines.
  std::vector<std::string> run(std::vector<std::string> arguments) {
    HostProcess process(BERTH_STORE_HOST, state.path(), std::move(arguments));
    std::vector<std::string> lines = process.lines();
    EXPECT_EQ(process.end().exit_code, 0);
    return lines;
  }
  std::unique_ptr<SqliteStore> open() { return test::open_store({.path = state / "berth.db"}); }
  std::filesystem::path cloud() const { return state / "cloud"; }

  // What must hold once everything is reconciled. How many calls were completed.
  int check_settled() {
    const auto store = open();
    EXPECT_THAT(FolderProvider::alive(cloud()), ::testing::IsEmpty());
    std::map<std::string, int> creates;
    for (const std::string& line : FolderProvider::log(cloud()))
      if (line.starts_with("create ")) ++creates[line.substr(7)];
    for (const auto& [name, count] : creates) EXPECT_EQ(count, 1) << name;
    int completed = 0;
    const auto intents =
        value_of<std::vector<Intent>>(*store, [](Transaction& rows) { return rows.intents({}); });
    for (const Intent& intent : intents) {
      EXPECT_EQ(intent.state, IntentState::kReleased) << intent.name;
      const std::string name = intent.name;
      const auto receipt = value_of<std::optional<Receipt>>(
          *store, [name](Transaction& rows) { return rows.receipt(name); });
      if (!receipt) {
        ADD_FAILURE() << "no receipt of " << name;
        continue;
      }
      const bool done = receipt->settlement == Settlement::kCompleted;
      EXPECT_EQ(receipt->cost, done ? Money::micros(50'000) : Money()) << name;
      EXPECT_EQ(intent.result.has_value(), done) << name;
      completed += done;
    }
    for (const auto& [name, count] : creates) {
      EXPECT_TRUE(std::any_of(intents.begin(), intents.end(), [&name](const Intent& intent) {
        return intent.name == name;
      })) << "a sandbox without an intent";
    }
    check_ledger(*store, completed);
    return completed;
  }

  static void check_ledger(Store& store, int completed) {
    const auto balance = [&store](std::string account) {
      return value_of<Money>(
          store, [account](Transaction& rows) { return rows.ledger().balance(account); });
    };
    EXPECT_EQ(balance("usage"), Money::cents(5 * completed));
    EXPECT_EQ(balance("usage") + balance("owner:owner") + balance("grants"), Money());
  }

  test::Folder state;
};

TEST_F(Processes, WritersInSeveralProcessesLoseNothingAndTearNothing) {
  constexpr int kUnits = 60;
  std::vector<std::unique_ptr<HostProcess>> hosts;
  for (const char* owner : {"a", "b", "c", "d"}) {
    hosts.push_back(std::make_unique<HostProcess>(
        BERTH_STORE_HOST, state.path(),
        std::vector<std::string>{"units", owner, std::to_string(kUnits)}));
  }
  for (const auto& host : hosts) {
    EXPECT_EQ(host->lines().size(), std::size_t{kUnits});
    EXPECT_EQ(host->end().exit_code, 0);
  }
  const auto store = open();
  const auto intents =
      value_of<std::vector<Intent>>(*store, [](Transaction& rows) { return rows.intents({}); });
  EXPECT_EQ(intents.size(), std::size_t{4 * kUnits});
  const auto receipts =
      value_of<std::vector<Receipt>>(*store, [](Transaction& rows) { return rows.receipts({}); });
  EXPECT_EQ(receipts.size(), intents.size());
  for (const Intent& intent : intents) {
    EXPECT_EQ(intent.state, IntentState::kReleased);
    EXPECT_EQ(intent.revision, 3u);
  }
}

TEST_F(Processes, WhatWasAnsweredSurvivesKillAndNoUnitIsHalfThere) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 6; ++round) {
    const std::string owner = "owner-" + std::to_string(round);
    HostProcess host(BERTH_STORE_HOST, state.path(), {"units", owner, "100000"});
    std::vector<std::string> answered;
    const std::size_t lines = 1 + random() % 40;
    while (answered.size() < lines) answered.push_back(host.line().value());
    host.kill();
    EXPECT_EQ(host.end().signal, SIGKILL);
    // Also what it said while it was being killed was committed before it was said.
    for (const std::string& line : host.lines()) answered.push_back(line);
    const auto store = open();
    std::set<std::string> released;
    for (const Intent& intent : value_of<std::vector<Intent>>(*store, [owner](Transaction& rows) {
           const IntentFilter filter{.owner = owner, .count_max = 100'000};
           return rows.intents(filter);
         })) {
      const std::string name = intent.name;
      const auto lines_of = value_of<std::vector<JournalEntry>>(
          *store, [name](Transaction& rows) { return rows.journal(name); });
      const auto receipt = value_of<std::optional<Receipt>>(
          *store, [name](Transaction& rows) { return rows.receipt(name); });
      const bool done = intent.state == IntentState::kReleased;
      EXPECT_EQ(receipt.has_value(), done) << name;
      EXPECT_EQ(intent.result.has_value(), done) << name;
      const std::size_t expected = done                                    ? 5
                                   : intent.state == IntentState::kCreated ? 2
                                                                           : std::size_t{1};
      EXPECT_EQ(lines_of.size(), expected) << name;
      if (done) released.insert(name);
    }
    for (const std::string& line : answered) {
      const long number = std::stol(line.substr(line.find(' ') + 1));
      EXPECT_TRUE(released.contains(test::make_intent(number, owner).name)) << line;
    }
  }
}

TEST_F(Processes, HostsThatShareCallsMakeOneSandboxAndOneReceiptForEach) {
  std::vector<std::unique_ptr<HostProcess>> hosts;
  for (int host = 0; host < 4; ++host) {
    std::vector<std::string> arguments = {"run"};
    for (int i = 0; i < 6; ++i) {
      arguments.push_back(fmt::format("shared-{}", i));
      arguments.push_back(fmt::format("own-{}-{}", host, i));
    }
    hosts.push_back(
        std::make_unique<HostProcess>(BERTH_STORE_HOST, state.path(), std::move(arguments)));
  }
  std::map<std::string, int> first_answers;
  for (const auto& host : hosts) {
    const std::vector<std::string> lines = host->lines();
    EXPECT_EQ(lines.size(), 12u);
    for (const std::string& line : lines) {
      const std::string call = line.substr(0, line.find(' '));
      const std::string rest = line.substr(line.find(' ') + 1);
      if (rest.starts_with("completed ")) {
        ++first_answers[call];
        continue;
      }
      // Whoever comes second is told the recorded result, or that the first is still at it.
      EXPECT_TRUE(rest.starts_with("completed-again") || rest.starts_with("refused")) << line;
    }
    EXPECT_EQ(host->end().exit_code, 0);
  }
  EXPECT_EQ(first_answers.size(), 30u);
  for (const auto& [call, count] : first_answers) EXPECT_EQ(count, 1) << call;
  EXPECT_EQ(check_settled(), 30);
}

TEST_F(Processes, ALivingHostsIntentIsNotTouchedByAnother) {
  HostProcess host(BERTH_STORE_HOST, state.path(), {"run", "call"}, "stop:run");
  // It says so and stops where it is, alive.
  ASSERT_EQ(host.line(), "stopped at run");
  for (const std::string& line : run({"reconcile"}))
    EXPECT_THAT(line, ::testing::HasSubstr("held")) << line;
  EXPECT_EQ(FolderProvider::alive(cloud()).size(), 1u);
  EXPECT_EQ(FolderProvider::log(cloud()).size(), 1u) << "it was created and nothing more";
  host.kill();
  host.end();
  run({"reconcile"});
  EXPECT_EQ(check_settled(), 0);
}

TEST_F(Processes, HostsKilledWithManyCallsInFlightLeaveNothingAfterReconcile) {
  std::mt19937 random(7);
  int said_completed = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::string> arguments = {"run"};
    for (int i = 0; i < 40; ++i) arguments.push_back(fmt::format("call-{}-{}", round, i));
    HostProcess host(BERTH_STORE_HOST, state.path(), std::move(arguments));
    const std::size_t lines = random() % 30;
    std::vector<std::string> answered;
    while (answered.size() < lines) answered.push_back(host.line().value());
    host.kill();
    host.end();
    for (const std::string& line : host.lines()) answered.push_back(line);
    for (const std::string& line : answered)
      said_completed += line.find(" completed ") != std::string::npos;
    run({"reconcile"});
  }
  EXPECT_GE(check_settled(), said_completed);
  EXPECT_GT(said_completed, 0);
}

class KilledAt : public Processes, public ::testing::WithParamInterface<const char*> {};

TEST_P(KilledAt, ReconcileInANewProcessLeavesNothing) {
  const std::string point = GetParam();
  HostProcess host(BERTH_STORE_HOST, state.path(), {"run", "call"}, point);
  EXPECT_THAT(host.lines(), ::testing::IsEmpty());
  ASSERT_EQ(host.end().signal, SIGKILL) << "it never came to " << point;
  for (const std::string& line : run({"reconcile"}))
    EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("stray")));
  // The release was committed only in one case; then it is a good run, paid for.
  EXPECT_EQ(check_settled(), point == "after-commit:3" ? 1 : 0);
  // The same call again: nothing new is made for what was settled.
  const std::size_t effects = FolderProvider::log(cloud()).size();
  const std::vector<std::string> again = run({"run", "call"});
  ASSERT_EQ(again.size(), 1u);
  if (point == "before-commit:1") {
    EXPECT_THAT(again[0], ::testing::StartsWith("call completed "));
    EXPECT_EQ(check_settled(), 1);
  } else {
    EXPECT_EQ(FolderProvider::log(cloud()).size(), effects) << again[0];
    EXPECT_EQ(check_settled(), point == "after-commit:3" ? 1 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, KilledAt,
                         ::testing::Values("before-commit:1", "after-commit:1", "create", "created",
                                           "before-commit:2", "after-commit:2", "run", "destroy",
                                           "destroyed", "before-commit:3", "after-commit:3"),
                         [](const auto& point) {
                           std::string name = point.param;
                           for (char& c : name)
                             if (c == '-' || c == ':') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace berth
