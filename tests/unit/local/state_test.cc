#include "state.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "berth/outcome.hpp"

namespace berth::local {
namespace {

class LocalState : public ::testing::Test {
 protected:
  LocalState() {
    char path[] = "/tmp/berth-state-test-XXXXXX";
    if (mkdtemp(path) == nullptr) std::abort();
    folder_ = path;
  }
  ~LocalState() override { std::filesystem::remove_all(folder_); }

  static Record record(const std::string& name) {
    Record made;
    made.name = name;
    made.owner_tag = "owner with spaces";
    made.holder = "host/1";
    made.boot_id = "boot";
    made.layers = "user,pid";
    made.created_unix_ms = 1234567890123;
    made.outer_id = 70000;
    made.cgroup_folders = {"/sys/fs/cgroup/memory/a b", "/sys/fs/cgroup/pids/x"};
    return made;
  }

  std::string path_of(const std::string& name) const { return folder_ + "/allocations/" + name; }

  std::string folder_;
};

TEST_F(LocalState, ARecordIsReadAsItWasWritten) {
  StateStore store(folder_);
  const auto claim = store.claim(record("one"));
  ASSERT_TRUE(claim);
  const auto read = StateStore(folder_).read("one");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "one");
  EXPECT_EQ(read->owner_tag, "owner with spaces");
  EXPECT_EQ(read->created_unix_ms, 1234567890123u);
  EXPECT_EQ(read->outer_id, 70000u);
  EXPECT_EQ(read->cgroup_folders, record("one").cgroup_folders);
}

TEST_F(LocalState, ALineBreakInATagForgesNoField) {
  StateStore store(folder_);
  Record forged = record("one");
  forged.owner_tag = "x\ncgroup /sys/fs/cgroup\nend 1";
  ASSERT_TRUE(store.claim(forged));
  EXPECT_EQ(store.read("one")->cgroup_folders.size(), 2u);
}

TEST_F(LocalState, ATornRecordIsNoRecord) {
  StateStore store(folder_);
  ASSERT_TRUE(store.claim(record("one")));
  std::filesystem::resize_file(path_of("one") + "/record", 30);
  EXPECT_FALSE(store.read("one"));
  EXPECT_EQ(store.slot("one"), Slot::kAllocation);
}

TEST_F(LocalState, TheLockTellsWhoLives) {
  StateStore store(folder_);
  std::optional<Claim> claim = store.claim(record("one"));
  EXPECT_EQ(store.liveness("one"), Liveness::kAlive);
  EXPECT_EQ(store.liveness("none"), Liveness::kDead);
  claim.reset();
  EXPECT_EQ(store.liveness("one"), Liveness::kDead);
}

TEST_F(LocalState, ANameIsTakenOnceWhateverIsThere) {
  {
    StateStore store(folder_);
    EXPECT_TRUE(store.claim(record("one")));
    EXPECT_FALSE(store.claim(record("one")));
    EXPECT_FALSE(store.fence("one"));
    EXPECT_TRUE(store.fence("two"));
    EXPECT_TRUE(store.fence("two"));
    EXPECT_FALSE(store.claim(record("two")));
    store.retire("one");
    EXPECT_EQ(store.slot("one"), Slot::kTombstone);
    EXPECT_FALSE(store.claim(record("one")));
    EXPECT_TRUE(store.names().empty());
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/allocations"), {}), 2)
      << "two tombstones and no draft";
}

// Whoever retires does not wait for the disk, and nothing is forgotten all the same.
TEST_F(LocalState, WhatIsRetiredLeavesNothingBehindOnceItsStoreIsClosed) {
  constexpr int kNames = 50;
  {
    StateStore store(folder_);
    for (int i = 0; i < kNames; ++i) {
      const std::string name = "n" + std::to_string(i);
      ASSERT_TRUE(store.claim(record(name)));
      store.retire(name);
      EXPECT_EQ(store.slot(name), Slot::kTombstone);
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/allocations")) {
    EXPECT_TRUE(entry.is_regular_file()) << entry.path();
    EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
  }
}

TEST_F(LocalState, RetiringWhatIsNotThereOrRetiredChangesNothing) {
  StateStore store(folder_);
  store.retire("none");
  EXPECT_EQ(store.slot("none"), Slot::kFree);
  store.fence("two");
  store.retire("two");
  EXPECT_EQ(store.slot("two"), Slot::kTombstone);
}

TEST_F(LocalState, AClaimAndAFenceNeverBothWin) {
  StateStore store(folder_);
  for (int round = 0; round < 200; ++round) {
    const std::string name = "n" + std::to_string(round);
    bool fenced = false;
    std::thread fencer([&] { fenced = store.fence(name); });
    const bool claimed = store.claim(record(name)).has_value();
    fencer.join();
    ASSERT_NE(claimed, fenced) << name;
  }
}

TEST_F(LocalState, OldTombstonesGoAndYoungOnesStay) {
  StateStore store(folder_);
  store.fence("old");
  store.fence("young");
  const timeval two_days_ago[2] = {{time(nullptr) - 2 * 86400, 0}, {time(nullptr) - 2 * 86400, 0}};
  ASSERT_EQ(utimes(path_of("old").c_str(), two_days_ago), 0);
  store.tidy();
  EXPECT_EQ(store.slot("old"), Slot::kFree);
  EXPECT_EQ(store.slot("young"), Slot::kTombstone);
}

TEST_F(LocalState, TheInstallationKeepsItsId) {
  const std::string first = StateStore(folder_).installation_id();
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(StateStore(folder_).installation_id(), first);
}

TEST_F(LocalState, AProcessFileThatIsNotWholeNamesNoProcess) {
  StateStore store(folder_);
  ASSERT_TRUE(store.claim(record("one")));
  EXPECT_FALSE(store.process("one"));
  std::ofstream(path_of("one") + "/process") << "12345 678";
  EXPECT_FALSE(store.process("one"));
  std::ofstream(path_of("one") + "/process") << "12345 678\n";
  ASSERT_TRUE(store.process("one"));
  EXPECT_EQ(store.process("one")->pid, 12345);
  EXPECT_EQ(store.process("one")->start_time, 678u);
  std::ofstream(path_of("one") + "/process") << "1 678\n";
  EXPECT_FALSE(store.process("one")) << "the machine's first process is never a sandbox";
}

TEST_F(LocalState, AFolderThatCannotBeWrittenIsRefusedBeforeAnything) {
  try {
    StateStore store("/proc/berth-state");
    FAIL() << "it was accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.outcome_class(), OutcomeClass::kRejected);
    EXPECT_NE(failure.message().find("/proc/berth-state"), std::string::npos);
  }
}

TEST(LocalNames, AreLettersDigitsAndDashes) {
  for (const char* good : {"a", "berth-0123456789abcdef", "0"}) EXPECT_TRUE(valid_name(good)) << good;
  for (const char* bad : {"", "-a", ".", "..", "a/b", "A", "a b", ".new-1", "a\n"}) {
    EXPECT_FALSE(valid_name(bad)) << bad;
  }
  EXPECT_TRUE(valid_name(std::string(64, 'a')));
  EXPECT_FALSE(valid_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace berth::local
