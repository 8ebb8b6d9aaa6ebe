// The write-ahead log in large pieces: nothing but the number of writes may differ.
#include "core/store/sqlite/gathered_log.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <string>

#include "core/store/sqlite/connection.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using sqlite::Connection;
using test::FaultVfs;
using test::FileCall;

class GatheredLog : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder_ / "berth.db"; }

  // Over a VFS that counts.
  std::unique_ptr<Connection> open() {
    auto connection = Connection::open({.path = path(), .vfs = FaultVfs::name()});
    EXPECT_TRUE(connection) << connection.error().message();
    EXPECT_TRUE((*connection)->use_wal(true));
    EXPECT_TRUE((*connection)->script("CREATE TABLE pages (id INTEGER PRIMARY KEY, body BLOB)"));
    return std::move(*connection);
  }

  // `count` rows of nearly a page each.
  static std::string insert(int count) {
    return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
           std::to_string(count) + ") INSERT INTO pages (body) SELECT randomblob(3900) FROM n;";
  }

  // As a program sees it that knows nothing of the gathering.
  std::string asked_by_another(const char* sql) const {
    sqlite3* other = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    std::string answer;
    const auto take = [](void* into, int, char** values, char**) {
      *static_cast<std::string*>(into) += values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(other, sql, take, &answer, nullptr), SQLITE_OK) << sqlite3_errmsg(other);
    sqlite3_close(other);
    return answer;
  }

  static std::int64_t number(Connection& connection, std::string_view sql) {
    auto statement = connection.use_text(sql);
    EXPECT_TRUE(statement && statement->step());
    return statement->next_integer();
  }

  test::Folder folder_;
};

TEST_F(GatheredLog, TakesAllPagesOfACommitInOneWrite) {
  const auto connection = open();
  const int frames = connection->wal_frames();
  const int before = FaultVfs::made(FileCall::kWrite);
  ASSERT_TRUE(connection->script("BEGIN;" + insert(20) + "COMMIT"));
  EXPECT_EQ(FaultVfs::made(FileCall::kWrite) - before, 1);
  EXPECT_GE(connection->wal_frames() - frames, 20);
}

TEST_F(GatheredLog, OfALargeCommitIsWrittenInPiecesOfBoundedSize) {
  const auto connection = open();
  const int before = FaultVfs::made(FileCall::kWrite);
  ASSERT_TRUE(connection->script("BEGIN;" + insert(640) + "COMMIT"));
  // 640 pages and what lies above them are 2.6 MB, a piece has at most 120 KiB.
  EXPECT_GE(FaultVfs::made(FileCall::kWrite) - before, 22);
  EXPECT_LE(FaultVfs::made(FileCall::kWrite) - before, 30);
  EXPECT_EQ(asked_by_another("PRAGMA integrity_check"), "ok");
}

TEST_F(GatheredLog, ShowsEveryCommitToOthersAtOnce) {
  const auto connection = open();
  for (int commits = 1; commits <= 5; ++commits) {
    ASSERT_TRUE(connection->script("BEGIN;" + insert(3) + "COMMIT"));
    EXPECT_EQ(asked_by_another("SELECT count(*) FROM pages"), std::to_string(3 * commits));
  }
}

TEST_F(GatheredLog, GivesBackPagesThatATransactionSpilledBeforeItsCommit) {
  const auto connection = open();
  ASSERT_TRUE(connection->script("PRAGMA cache_size=10"));
  ASSERT_TRUE(connection->script("BEGIN;" + insert(300)));
  EXPECT_EQ(number(*connection, "SELECT sum(length(body)) FROM pages"), 300 * 3900);
  // Pages that are in the log already are written a second time, in place.
  ASSERT_TRUE(connection->script("UPDATE pages SET body = zeroblob(3900) WHERE id % 7 = 0"));
  EXPECT_EQ(number(*connection, "SELECT count(*) FROM pages WHERE body = zeroblob(3900)"), 42);
  EXPECT_EQ(asked_by_another("SELECT count(*) FROM pages"), "0");
  ASSERT_TRUE(connection->script("COMMIT"));
  EXPECT_EQ(asked_by_another("SELECT count(*) FROM pages WHERE body = zeroblob(3900)"), "42");
  EXPECT_EQ(asked_by_another("PRAGMA integrity_check"), "ok");
}

TEST_F(GatheredLog, OfATransactionThatIsRolledBackLeavesNothing) {
  const auto connection = open();
  ASSERT_TRUE(connection->script("PRAGMA cache_size=10"));
  ASSERT_TRUE(connection->script("BEGIN;" + insert(300) + "ROLLBACK;BEGIN;" + insert(2) + "COMMIT"));
  EXPECT_EQ(number(*connection, "SELECT count(*) FROM pages"), 2);
  EXPECT_EQ(asked_by_another("SELECT count(*) FROM pages"), "2");
  EXPECT_EQ(asked_by_another("PRAGMA integrity_check"), "ok");
}

TEST_F(GatheredLog, OverAVfsThatDoesNotExistIsRefusedByName) {
  const auto connection = Connection::open({.path = path(), .vfs = "no-such-vfs"});
  ASSERT_FALSE(connection);
  EXPECT_THAT(connection.error().message(), ::testing::HasSubstr("no-such-vfs"));
}

}  // namespace
}  // namespace berth
