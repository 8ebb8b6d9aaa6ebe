#include "core/store/host_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace berth {
namespace {

class HostLockTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-lock-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<HostLock> acquire() {
    auto lock = HostLock::acquire(dir_);
    EXPECT_TRUE(lock.has_value()) << (lock ? "" : lock.error().message());
    return lock ? std::move(*lock) : nullptr;
  }

  std::size_t lock_files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "hosts")) {
      count += entry.path().extension() == ".lock" ? 1 : 0;
    }
    return count;
  }

  // A process that holds a lock until it is killed; `holder` is what it is known by.
  pid_t start_holder(Holder& holder) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto lock = HostLock::acquire(dir_);
      const std::string path = lock ? (*lock)->holder().lock_path : "";
      (void)!::write(ends[1], path.data(), path.size());
      ::close(ends[1]);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
      holder.lock_path.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    return pid;
  }

  std::filesystem::path dir_;
};

TEST_F(HostLockTest, AllProcessesOfAStateFolderShareOneTagAndHaveLocksOfTheirOwn) {
  const auto first = acquire();
  const auto second = acquire();
  EXPECT_EQ(first->host_tag(), second->host_tag());
  EXPECT_NE(first->holder().lock_path, second->holder().lock_path);
  EXPECT_FALSE(first->holder().boot_id.empty());
}

TEST_F(HostLockTest, ALivingHolderIsNotDeadForItselfOrForOthers) {
  const auto first = acquire();
  const auto second = acquire();
  EXPECT_FALSE(first->is_dead(first->holder()));
  EXPECT_FALSE(second->is_dead(first->holder()));
  EXPECT_FALSE(second->is_dead(first->holder()));
}

TEST_F(HostLockTest, AHolderThatEndedInOrderIsDead) {
  auto first = acquire();
  const Holder holder = first->holder();
  first.reset();
  EXPECT_TRUE(acquire()->is_dead(holder));
}

TEST_F(HostLockTest, AKilledProcessIsDeadAndALivingOneIsNot) {
  Holder holder;
  const pid_t pid = start_holder(holder);
  ASSERT_FALSE(holder.lock_path.empty());
  const auto mine = acquire();
  EXPECT_FALSE(mine->is_dead(holder));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(mine->is_dead(holder));
  EXPECT_TRUE(mine->is_dead(holder)) << "once dead, dead for ever";
}

TEST_F(HostLockTest, TheFolderMayBeSeenUnderAnotherPath) {
  const auto first = acquire();
  Holder elsewhere = first->holder();
  elsewhere.lock_path = "/seen/elsewhere/" +
                        std::filesystem::path(elsewhere.lock_path).filename().string();
  EXPECT_FALSE(acquire()->is_dead(elsewhere));
}

TEST_F(HostLockTest, AHolderWithoutALockIsNeverCalledDead) {
  EXPECT_FALSE(acquire()->is_dead(Holder{}));
}

TEST_F(HostLockTest, FilesOfTheDeadAreRemovedAndThoseOfTheLivingStay) {
  Holder holder;
  const pid_t pid = start_holder(holder);
  const auto living = acquire();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(lock_files(), 2U);
  const auto next = acquire();
  EXPECT_EQ(lock_files(), 2U);
  EXPECT_FALSE(next->is_dead(living->holder()));
}

TEST_F(HostLockTest, ADamagedHostIdIsAnErrorThatNamesTheFile) {
  acquire();
  std::ofstream(dir_ / "host-id") << "nonsense\n";
  const auto lock = HostLock::acquire(dir_);
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().kind(), ErrorKind::kCorrupt);
  EXPECT_NE(lock.error().message().find("host-id"), std::string::npos);
}

TEST_F(HostLockTest, AHolderIsDescribedByTheProcessThatItIs) {
  const auto lock = acquire();
  EXPECT_EQ(lock->describe(lock->holder()), "process " + std::to_string(::getpid()) + " of this machine");
  Holder other = lock->holder();
  other.boot_id = "another";
  EXPECT_NE(lock->describe(other).find("an earlier start"), std::string::npos);
  other.lock_path = "elsewhere";
  EXPECT_EQ(lock->describe(other), "host " + lock->holder().host_id);
}

TEST_F(HostLockTest, AWordOutlivesItsHostAndIsReadOnceMoreUntilItIsDropped) {
  acquire()->leave_word("berth-1", "the disk was gone");
  const auto lock = acquire();
  EXPECT_EQ(lock->left_word("berth-1"), "the disk was gone");
  EXPECT_EQ(lock->intents_with_words(), std::vector<std::string>{"berth-1"});
  EXPECT_FALSE(lock->left_word("berth-2"));
  lock->drop_word("berth-1");
  EXPECT_FALSE(lock->left_word("berth-1"));
  EXPECT_TRUE(lock->intents_with_words().empty());
}

TEST_F(HostLockTest, AWordIsBoundedAndItsNameNeverLeavesTheFolder) {
  const auto lock = acquire();
  lock->leave_word("../outside", "x");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "outside.word"));
  lock->leave_word("berth-1", std::string(100'000, 'x'));
  ASSERT_TRUE(lock->left_word("berth-1"));
  EXPECT_EQ(lock->left_word("berth-1")->size(), 1024u);
}

}  // namespace
}  // namespace berth
