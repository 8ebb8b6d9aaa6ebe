// What holds when processes die: sandboxes are found, ended and fenced by name alone, and nothing is
// left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "driver_process.h"
#include "machine.h"

namespace berth::local {
namespace {

using std::chrono::seconds;

std::vector<std::string> cgroups_of(const Machine& machine, const std::string& name) {
  const auto record = StateStore(machine.state_dir()).read(name);
  return record ? record->cgroup_folders : std::vector<std::string>();
}

bool any_exists(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (std::filesystem::exists(path)) return true;
  }
  return false;
}

TEST(Durability, AFreshProcessFindsAndEndsASandboxByItsName) {
  Machine machine;
  const std::string name = Machine::fresh_name();
  Driver holder(machine.state_dir(), {"hold", name});
  ASSERT_EQ(holder.line(), "held");
  const Found found = machine.allocations().lookup(name);
  EXPECT_EQ(found.presence, Presence::kPresent);
  EXPECT_EQ(found.state, SandboxState::kReady);
  EXPECT_EQ(found.name, name);
  EXPECT_GT(found.created_unix_ms, 0u);
  EXPECT_EQ(Driver(machine.state_dir(), {"list"}).all(), name + "\n");
  const auto folders = cgroups_of(machine, name);
  ASSERT_FALSE(folders.empty());
  EXPECT_TRUE(cgroups_populated(folders));

  EXPECT_EQ(Driver(machine.state_dir(), {"destroy", name}).line(), "gone");
  EXPECT_FALSE(any_exists(folders));
  EXPECT_EQ(machine.allocations().lookup(name).presence, Presence::kAbsentNow);
  EXPECT_EQ(Driver(machine.state_dir(), {"list"}).all(), "");
  EXPECT_EQ(Driver(machine.state_dir(), {"destroy", name}).line(), "gone") << "it is idempotent";
}

TEST(Durability, AKilledProviderLeavesNothingRunningAndItsNameIsCleanedByAnother) {
  Machine machine;
  const std::string name = Machine::fresh_name();
  Driver holder(machine.state_dir(), {"hold", name});
  ASSERT_EQ(holder.line(), "held");
  const auto folders = cgroups_of(machine, name);
  EXPECT_TRUE(cgroups_populated(folders));
  holder.kill_now();
  EXPECT_TRUE(eventually([&] { return !cgroups_populated(folders); }));
  EXPECT_TRUE(eventually(
      [&] { return StateStore(machine.state_dir()).liveness(name) == Liveness::kDead; }));
  const Found found = machine.allocations().lookup(name);
  EXPECT_EQ(found.presence, Presence::kPresent) << "what is left of it is there until it is destroyed";
  EXPECT_EQ(found.state, SandboxState::kStopped);
  machine.allocations().destroy(name, seconds(20));
  EXPECT_FALSE(any_exists(folders));
  for (const std::string& folder : folders) {
    EXPECT_FALSE(std::filesystem::exists(folder.substr(0, folder.rfind('/')))) << folder;
  }
  EXPECT_EQ(machine.allocations().lookup(name).presence, Presence::kAbsentNow);
}

TEST(Durability, ATrialOfAKilledProviderIsCleanedByTheNext) {
  Machine machine;
  const std::string name = Machine::fresh_name(std::string(kTrialPrefix) + "x");
  Driver holder(machine.state_dir(), {"hold", name});
  ASSERT_EQ(holder.line(), "held");
  const auto folders = cgroups_of(machine, name);
  holder.kill_now();
  EXPECT_TRUE(eventually(
      [&] { return StateStore(machine.state_dir()).liveness(name) == Liveness::kDead; }));
  const auto next = machine.another();
  EXPECT_EQ(next->lookup(name).presence, Presence::kAbsentNow);
  EXPECT_FALSE(any_exists(folders));
}

TEST(Durability, WhatAKilledProviderMadeAheadEndsWithItAndIsCleanedByTheNext) {
  Machine machine;
  Driver holder(machine.state_dir(), {"warm"});
  ASSERT_EQ(holder.line(), "warm");
  const StateStore store(machine.state_dir());
  const std::vector<std::string> names = store.names();
  std::vector<std::string> folders;
  std::size_t templates = 0;
  for (const std::string& name : names) {
    const auto record = store.read(name);
    ASSERT_TRUE(record) << name;
    folders.insert(folders.end(), record->cgroup_folders.begin(), record->cgroup_folders.end());
    templates += name.starts_with("local-template-") ? 1 : 0;
  }
  EXPECT_EQ(templates, 1u);
  EXPECT_GT(names.size(), 2u);
  const ListPage made_ahead = machine.allocations().list_owned("owner", "");
  EXPECT_EQ(count_named(made_ahead), 0u) << "none is an allocation";
  ASSERT_EQ(made_ahead.items.size(), names.size());
  const std::string holder_of_all = made_ahead.items.front().holder;
  EXPECT_NE(holder_of_all, "");
  for (const Listed& item : made_ahead.items) EXPECT_EQ(item.holder, holder_of_all);
  holder.kill_now();
  for (const std::string& name : names) {
    EXPECT_TRUE(eventually([&] { return store.liveness(name) == Liveness::kDead; })) << name;
  }
  machine.another();
  EXPECT_TRUE(store.names().empty());
  EXPECT_FALSE(any_exists(folders));
}

TEST(Durability, ASandboxEndsByItselfWhenItsTimeIsOver) {
  Machine machine;
  CreateSpec spec;
  spec.lifetime = std::chrono::milliseconds(3000);
  const auto sandbox = machine.sandbox(spec);
  const Ran ran = shell(*sandbox, "sleep 1000");
  EXPECT_EQ(ran.result.cause, Cause::kLost);
  EXPECT_TRUE(sandbox->wait_gone(seconds(20)));
  EXPECT_EQ(machine.allocations().lookup(sandbox->name()).state, SandboxState::kStopped);
}

TEST(Durability, AReleasedNameAndAFencedNameAreNeverUsedAgain) {
  Machine machine;
  Allocations& allocations = machine.allocations();
  const std::string released = Machine::fresh_name();
  allocations.create(released, {});
  allocations.destroy(released, seconds(20));
  const std::string fenced = Machine::fresh_name();
  EXPECT_EQ(allocations.fence(fenced).presence, Presence::kAbsentFenced);
  EXPECT_EQ(allocations.fence(fenced).presence, Presence::kAbsentFenced);
  for (const std::string& name : {released, fenced}) {
    const auto refusal = failure_of([&] { allocations.create(name, {}); });
    ASSERT_TRUE(refusal) << name;
    EXPECT_EQ(refusal->outcome_class(), OutcomeClass::kRejected);
    EXPECT_EQ(refusal->code(), Code::kConflict);
  }
  EXPECT_EQ(Driver(machine.state_dir(), {"fence", released}).line(), "4");
}

TEST(Durability, ALivingSandboxIsNotFenced) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const Found found = machine.allocations().fence(sandbox->name());
  EXPECT_EQ(found.presence, Presence::kPresent);
  EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n");
}

TEST(Durability, ACreateAndAFenceOfOneNameNeverBothWin) {
  Machine machine;
  const auto other = machine.another();
  constexpr int kRounds = 40;
  int created = 0;
  int fenced = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = Machine::fresh_name("race");
    bool fence_won = false;
    std::thread fencer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 25));
      fence_won = other->fence(name).presence == Presence::kAbsentFenced;
    });
    const auto refusal = failure_of([&] { machine.allocations().create(name, {}); });
    fencer.join();
    EXPECT_EQ(refusal.has_value(), fence_won) << (refusal ? refusal->what() : "created");
    created += refusal ? 0 : 1;
    fenced += fence_won ? 1 : 0;
    machine.allocations().destroy(name, seconds(20));
  }
  EXPECT_EQ(created + fenced, kRounds);
}

TEST(Durability, TheSameNameNeverMakesASecondSandbox) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  EXPECT_EQ(machine.allocations().create(sandbox->name(), {}), sandbox);
  const auto other = machine.another();
  EXPECT_EQ(other->create(sandbox->name(), {}), nullptr) << "it exists, and another holds it";
  CreateSpec someone;
  someone.owner_tag = "someone else";
  const auto refusal = failure_of([&] { other->create(sandbox->name(), someone); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->outcome_class(), OutcomeClass::kFailedDirty) << "one exists under this name";
}

TEST(Durability, AControlGroupWithoutARecordIsListedAndCanBeEnded) {
  Machine machine;
  const std::string name = Machine::fresh_name("orphan");
  const SandboxCgroup cgroup = machine.allocations().cgroups().sandbox(name);
  ASSERT_EQ(cgroup.make({64u << 20, 10, 0}), "");
  const ListPage page = machine.allocations().list_owned("owner", "");
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].name, name);
  EXPECT_EQ(page.items[0].state, SandboxState::kBroken);
  EXPECT_TRUE(machine.allocations().list_owned("someone else", "").items.empty());
  machine.allocations().destroy(name, seconds(20));
  EXPECT_FALSE(any_exists(cgroup.folders()));
}

TEST(Durability, ALauncherThatDiesIsReplacedAndSandboxesGoOn) {
  Machine machine;
  const auto before = machine.sandbox();
  std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
  pid_t launcher = 0;
  int killed = 0;
  while (children >> launcher) {
    const std::string name = read_small_file("/proc/" + std::to_string(launcher) + "/comm").value_or("");
    if (name == "berth-launcher\n") killed += kill(launcher, SIGKILL) == 0 ? 1 : 0;
  }
  ASSERT_GE(killed, 1);
  EXPECT_EQ(shell(*before, "echo fine").out, "fine\n");
  const std::string name = Machine::fresh_name();
  std::shared_ptr<Sandbox> after;
  EXPECT_TRUE(eventually([&] {
    return !failure_of([&] { after = machine.allocations().create(Machine::fresh_name(), {}); });
  }));
  ASSERT_TRUE(after);
  EXPECT_EQ(shell(*after, "echo too").out, "too\n");
  machine.allocations().destroy(after->name(), seconds(20));
}

std::size_t count_entries(const std::string& path) {
  std::size_t count = 0;
  std::error_code ignored;
  for (auto at = std::filesystem::directory_iterator(path, ignored); at != end(at); ++at) ++count;
  return count;
}

std::size_t mount_count() {
  const std::string table = read_small_file("/proc/self/mountinfo", 1 << 20).value_or("");
  return static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
}

TEST(Durability, NothingIsLeftAfterManyCycles) {
  Machine machine;
  const auto cycle = [&] {
    const std::string name = Machine::fresh_name();
    const auto sandbox = machine.allocations().create(name, {});
    EXPECT_EQ(shell(*sandbox, "echo fine > file; sleep 100 & cat file").out, "fine\n");
    machine.allocations().destroy(name, seconds(20));
  };
  cycle();
  const std::size_t descriptors = count_entries("/proc/self/fd");
  const std::size_t mounts = mount_count();
  constexpr int kCycles = 40;
  for (int i = 0; i < kCycles; ++i) cycle();
  EXPECT_EQ(count_entries("/proc/self/fd"), descriptors);
  EXPECT_EQ(mount_count(), mounts);
  EXPECT_TRUE(StateStore(machine.state_dir()).names().empty());
  for (const CgroupBase& base : machine.allocations().cgroups().bases()) {
    EXPECT_FALSE(std::filesystem::exists(base.folder)) << base.folder;
  }
}

TEST(Durability, ManySandboxesLiveAtOnce) {
  Machine machine;
  constexpr int kMany = 24;
  std::vector<std::shared_ptr<Sandbox>> sandboxes;
  for (int i = 0; i < kMany; ++i) sandboxes.push_back(machine.sandbox());
  std::vector<std::thread> runners;
  std::atomic<int> good{0};
  for (int i = 0; i < kMany; ++i) {
    runners.emplace_back([&, i] {
      const Ran ran = shell(*sandboxes[static_cast<std::size_t>(i)], "echo " + std::to_string(i));
      good += ran.out == std::to_string(i) + "\n" ? 1 : 0;
    });
  }
  for (std::thread& runner : runners) runner.join();
  EXPECT_EQ(good, kMany);
  EXPECT_EQ(count_named(machine.allocations().list_owned("owner", "")), 0u)
      << "they were made with an empty tag";
  EXPECT_EQ(machine.allocations().list_owned("", "").items.size(), static_cast<std::size_t>(kMany));
}

TEST(Durability, CreatesFromManyThreadsDoNotDisturbEachOther) {
  Machine machine;
  constexpr int kThreads = 8;
  std::atomic<int> good{0};
  std::vector<std::thread> makers;
  for (int i = 0; i < kThreads; ++i) {
    makers.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const std::string name = Machine::fresh_name();
        const auto sandbox = machine.allocations().create(name, {});
        good += shell(*sandbox, "echo fine").out == "fine\n" ? 1 : 0;
        machine.allocations().destroy(name, seconds(20));
      }
    });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(good, kThreads * 5);
}

}  // namespace
}  // namespace berth::local
