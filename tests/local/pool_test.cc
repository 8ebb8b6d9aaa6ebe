// What is made ahead: it is claimed by one create, belongs to its provider until then, and is gone with
// it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "machine.h"
#include "process_handle.h"

namespace berth::local {
namespace {

using std::chrono::seconds;

Config ahead(StartupChoice startup) {
  Config config = default_config();
  config.startup = startup;
  config.templates[index_of(Interpreter::kNode)] = false;
  config.ready_least = 2;
  config.ready_most = 3;
  return config;
}

std::vector<std::string> names_with(const std::string& state_dir, std::string_view prefix) {
  std::vector<std::string> found;
  for (const std::string& name : StateStore(state_dir).names()) {
    if (name.starts_with(prefix)) found.push_back(name);
  }
  return found;
}

TEST(Pool, AReadySandboxIsClaimedOnceAndByItsName) {
  Machine machine(ahead(StartupChoice::kWarm));
  EXPECT_EQ(names_with(machine.state_dir(), "local-ready-").size(), 3u);
  const ListPage ahead_of_it = machine.allocations().list_owned("owner", "");
  ASSERT_EQ(ahead_of_it.items.size(), 3u);
  for (const Listed& item : ahead_of_it.items) {
    EXPECT_EQ(item.name, "") << "none is an allocation yet";
    EXPECT_TRUE(item.ref.starts_with("local/local-ready-")) << item.ref;
    EXPECT_TRUE(item.holder.ends_with("/" + std::to_string(getpid()))) << item.holder;
    EXPECT_EQ(item.state, SandboxState::kReady);
  }
  EXPECT_TRUE(machine.allocations().list_owned("someone else", "").items.empty());
  const std::string name = Machine::fresh_name();
  CreateSpec spec;
  spec.owner_tag = "owner";
  const auto sandbox = machine.allocations().create(name, spec);
  EXPECT_EQ(sandbox->startup(), Startup::kWarm);
  ListPage page = machine.allocations().list_owned("owner", "");
  std::erase_if(page.items, [](const Listed& item) { return item.name.empty(); });
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items.front().name, name);
  EXPECT_EQ(machine.allocations().lookup(name).state, SandboxState::kReady);
  EXPECT_EQ(machine.allocations().create(name, spec), sandbox) << "the same name is the same sandbox";
  EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n");
  machine.another()->destroy(name, seconds(20));
  EXPECT_EQ(machine.allocations().lookup(name).presence, Presence::kAbsentNow);
  const auto refusal = failure_of([&] { machine.allocations().create(name, spec); });
  ASSERT_TRUE(refusal) << "single use, of the name and of the sandbox";
  machine.allocations().destroy(name, seconds(20));
}

TEST(Pool, AClaimAndAFenceOfOneNameNeverBothWin) {
  Machine machine(ahead(StartupChoice::kWarm));
  const auto other = machine.another();
  int created = 0;
  int fenced = 0;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = Machine::fresh_name("race");
    bool fence_won = false;
    std::thread fencer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 10));
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

TEST(Pool, ARunningLifetimeIsTheOneOfTheClaim) {
  Machine machine(ahead(StartupChoice::kWarm));
  CreateSpec spec;
  spec.lifetime = std::chrono::milliseconds(400);
  const auto sandbox = machine.sandbox(spec);
  EXPECT_TRUE(sandbox->wait_gone(seconds(60)));
}

TEST(Pool, ATemplateThatDiesTakesNobodyAlong) {
  Machine machine(ahead(StartupChoice::kTemplate));
  const auto sandbox = machine.sandbox();
  ASSERT_EQ(sandbox->startup(), Startup::kTemplate);
  const auto names = names_with(machine.state_dir(), "local-template-");
  ASSERT_EQ(names.size(), 1u);
  const auto process = StateStore(machine.state_dir()).process(names.front());
  ASSERT_TRUE(process);
  std::ifstream children("/proc/" + std::to_string(process->pid) + "/task/" +
                         std::to_string(process->pid) + "/children");
  pid_t interpreter = 0;
  children >> interpreter;
  ASSERT_GT(interpreter, 1);
  kill(interpreter, SIGKILL);
  EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n");
  for (int i = 0; i < 4; ++i) {
    const auto next = machine.sandbox();
    EXPECT_EQ(shell(*next, "echo fine").out, "fine\n") << i;
  }
  EXPECT_TRUE(machine.allocations().pool().await_full(std::chrono::minutes(2)));
  EXPECT_NE(machine.allocations().pool().usable_template(Interpreter::kPython), nullptr) << "another took its place";
}

TEST(Pool, NothingIsLeftOfWhatNobodyClaimed) {
  std::vector<CgroupBase> bases;
  {
    Machine machine(ahead(StartupChoice::kTemplate));
    bases = machine.allocations().cgroups().bases();
    for (int i = 0; i < 3; ++i) {
      const std::string name = Machine::fresh_name();
      const auto sandbox = machine.allocations().create(name, {});
      EXPECT_EQ(shell(*sandbox, "echo fine").out, "fine\n");
      machine.allocations().destroy(name, seconds(20));
    }
    EXPECT_TRUE(std::filesystem::exists(bases.front().folder));
    machine.close();
    EXPECT_TRUE(StateStore(machine.state_dir()).names().empty());
  }
  for (const CgroupBase& base : bases) EXPECT_FALSE(std::filesystem::exists(base.folder)) << base.folder;
}

TEST(Pool, AnAllocationOutlivesAProviderThatShutsDownInOrderAndIsFoundByTheNext) {
  Machine machine(ahead(StartupChoice::kTemplate));
  const std::string name = Machine::fresh_name();
  machine.allocations().create(name, {});
  const StateStore store(machine.state_dir());
  const auto process = store.process(name);
  ASSERT_TRUE(process);
  machine.close();
  EXPECT_TRUE(open_process(*process).valid()) << "it lives on, and what it was forked from";
  EXPECT_EQ(store.liveness(name), Liveness::kAlive);
  const auto next = machine.another();
  EXPECT_EQ(next->lookup(name).state, SandboxState::kReady);
  next->destroy(name, seconds(20));
  EXPECT_TRUE(eventually([&] {
    for (const std::string& left : store.names()) {
      if (store.liveness(left) != Liveness::kDead && !left.starts_with("local-ready-")) {
        return left.starts_with("local-template-") && names_with(machine.state_dir(), "local-template-").size() == 1;
      }
    }
    return true;
  }));
}

}  // namespace
}  // namespace berth::local
