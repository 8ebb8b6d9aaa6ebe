// Disks that fail: what callers are told, and what is stored afterwards.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <fstream>

#include "tests/store/crowd.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::commit;
using test::FaultVfs;
using test::FileCall;
using test::make_intent;
using ::testing::HasSubstr;

class Faults : public ::testing::Test {
 protected:
  ~Faults() override { FaultVfs::disarm(); }

  static UnitOfWork insert(long number) {
    return [number](Transaction& rows) { return rows.insert_intent(make_intent(number)); };
  }
  static bool stored(Store& in, long number) {
    return test::value_of<std::optional<Intent>>(
               in, [number](Transaction& rows) { return rows.intent(make_intent(number).name); })
        .has_value();
  }
  // What a crash of the machine now would leave, without the memory that processes share.
  bool stored_after_a_crash(long number) {
    const test::Folder copy;
    for (const char* file : {"berth.db", "berth.db-wal"})
      if (std::filesystem::exists(folder / file))
        std::filesystem::copy_file(folder / file, copy / file);
    const auto recovered = test::open_store({.path = copy / "berth.db"});
    return stored(*recovered, number);
  }

  test::Folder folder;
  std::unique_ptr<SqliteStore> store =
      test::open_store({.path = folder / "berth.db", .vfs = FaultVfs::name()});
};

TEST_F(Faults, ACrashBesideTheRoomThatTheLogKeepsLosesNothing) {
  for (long number = 0; number < 60; ++number) ASSERT_TRUE(commit(*store, insert(number)));
  const auto log = folder / "berth.db-wal";
  std::string tail(4096, 'x');
  std::ifstream file(log, std::ios::binary);
  file.seekg(-static_cast<long>(tail.size()), std::ios::end);
  file.read(tail.data(), static_cast<long>(tail.size()));
  // Otherwise there is no such room, and this shows nothing.
  ASSERT_EQ(tail, std::string(4096, '\0'));
  for (const long number : {0, 30, 59}) EXPECT_TRUE(stored_after_a_crash(number)) << number;
  ASSERT_TRUE(commit(*store, insert(60)));
  EXPECT_TRUE(stored_after_a_crash(60));
}

TEST_F(Faults, ACommitThatCannotBeFlushedIsUnknownAndThenSettled) {
  ASSERT_TRUE(commit(*store, insert(1)));
  FaultVfs::arm(FileCall::kSync, SQLITE_IOERR_FSYNC, 1);
  const Status done = commit(*store, insert(2));
  EXPECT_EQ(FaultVfs::failed(), 1);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kUnknownOutcome);
  // From the answer on, reading tells the truth, and a crash does not change it.
  const bool now = stored(*store, 2);
  EXPECT_EQ(stored_after_a_crash(2), now);
  EXPECT_TRUE(stored(*store, 1));
  EXPECT_TRUE(commit(*store, insert(3)));
  EXPECT_TRUE(stored(*store, 3));
  EXPECT_EQ(stored(*store, 2), now);
  EXPECT_EQ(store->counters().failed_commits, 1u);
  EXPECT_EQ(store->counters().reopened, 1u);
}

TEST_F(Faults, AStoreThatIsRemovedOrReplacedWhileInUseTakesNothingMore) {
  const test::Folder other;
  ASSERT_TRUE(commit(*store, insert(1)));
  std::filesystem::rename(folder / "berth.db", other / "berth.db");
  Status done = commit(*store, insert(2));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(done.error().message(), HasSubstr("removed or replaced"));
  std::filesystem::copy_file(other / "berth.db", folder / "berth.db");
  done = commit(*store, insert(3));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("removed or replaced"));
  std::filesystem::remove(folder / "berth.db");
  std::filesystem::rename(other / "berth.db", folder / "berth.db");
  EXPECT_TRUE(commit(*store, insert(4))) << "it is back";
}

TEST_F(Faults, ALargeCommitThatCannotBeFlushedLeavesNoGhostInTheLog) {
  ASSERT_TRUE(commit(*store, insert(1)));
  FaultVfs::arm(FileCall::kSync, SQLITE_IOERR_FSYNC, 1);
  const Status done = commit(*store, [](Transaction& rows) -> Status {
    for (long number = 100; number < 200; ++number)
      BERTH_CHECK_OK(rows.insert_intent(make_intent(number)));
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kUnknownOutcome);
  for (const long number : {100, 150, 199}) {
    const bool now = stored(*store, number);
    EXPECT_EQ(stored_after_a_crash(number), now) << number;
    EXPECT_EQ(stored(*store, 100), now) << "half a unit";
  }
}

TEST_F(Faults, AFullDiskAtCommitIsUnknownForTheWholeBatch) {
  test::Crowd crowd(*store);
  for (long number = 0; number < 5; ++number) crowd.add(insert(number));
  // Also a refusal rests on what was not committed after all.
  crowd.add(insert(0));
  crowd.add([](Transaction&) -> Status {
    FaultVfs::arm(FileCall::kWrite, SQLITE_FULL, 1);
    return {};
  });
  crowd.run_together();
  for (std::size_t i = 0; i < 7; ++i) {
    ASSERT_FALSE(crowd.answer(i)) << i;
    EXPECT_EQ(crowd.answer(i).error().kind(), ErrorKind::kUnknownOutcome) << i;
    EXPECT_THAT(crowd.answer(i).error().message(), HasSubstr("no space is left"));
  }
  for (long number = 0; number < 5; ++number) EXPECT_FALSE(stored(*store, number)) << number;
  EXPECT_TRUE(commit(*store, insert(0)));
}

TEST_F(Faults, ADiskThatStaysBrokenStopsReadingAndWritingUntilItIsBack) {
  ASSERT_TRUE(commit(*store, insert(1)));
  FaultVfs::arm(FileCall::kSync, SQLITE_IOERR_FSYNC, -1);
  const Status first = commit(*store, insert(2));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind(), ErrorKind::kUnknownOutcome);
  const Status second = commit(*store, insert(3));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(second.error().message(), HasSubstr("berth.db"));
  const Status reading = test::read(*store, [](Transaction&) -> Status { return {}; });
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().kind(), ErrorKind::kUnavailable);
  FaultVfs::disarm();
  EXPECT_TRUE(commit(*store, insert(4)));
  EXPECT_TRUE(stored(*store, 1));
  EXPECT_TRUE(stored(*store, 4));
  EXPECT_FALSE(stored(*store, 3)) << "it was refused before anything was done";
  EXPECT_EQ(stored_after_a_crash(2), stored(*store, 2));
}

TEST_F(Faults, ADiskThatFillsUpInsideAUnitRefusesItForCertain) {
  // More than the page cache holds, so that pages are written before the commit.
  const Status done = commit(*store, [](Transaction& rows) -> Status {
    FaultVfs::arm(FileCall::kWrite, SQLITE_FULL, -1);
    for (long number = 0; number < 3; ++number) {
      Intent large = make_intent(number);
      large.result = std::string(std::size_t{12} << 20, 'x');
      BERTH_CHECK_OK(rows.insert_intent(large));
    }
    return {};
  });
  FaultVfs::disarm();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kIo);
  EXPECT_THAT(done.error().message(), HasSubstr("no space is left"));
  EXPECT_FALSE(stored(*store, 0));
  EXPECT_TRUE(commit(*store, insert(0)));
}

TEST_F(Faults, AUnitThatIgnoresAFullDiskIsNotCommittedInPieces) {
  const Status done = commit(*store, [](Transaction& rows) -> Status {
    FaultVfs::arm(FileCall::kWrite, SQLITE_FULL, -1);
    for (long number = 0; number < 3; ++number) {
      Intent large = make_intent(number);
      large.result = std::string(std::size_t{12} << 20, 'x');
      (void)rows.insert_intent(large);
    }
    FaultVfs::disarm();
    (void)rows.insert_intent(make_intent(9));
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kIo);
  for (const long number : {0, 1, 2, 9}) EXPECT_FALSE(stored(*store, number)) << number;
}

TEST_F(Faults, AnotherProcessThatHoldsTheLockIsWaitedForWithinABound) {
  store =
      test::open_store({.path = folder / "berth.db", .busy_wait = std::chrono::milliseconds(50)});
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "berth.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Status done = commit(*store, insert(1));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(done.error().message(), HasSubstr("locked by another process"));
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_FALSE(stored(*store, 1));
  EXPECT_TRUE(commit(*store, insert(1)));
}

}  // namespace
}  // namespace berth
