// The write-ahead log in large pieces: nothing but the number of writes may differ.
#include "core/store/sqlite/gathered_log.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
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

  // Over a VFS that counts, or one by its name.
  std::unique_ptr<Connection> open(const std::string& vfs = FaultVfs::name()) {
    auto connection = Connection::open({.path = path(), .vfs = vfs});
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

// Over the system's own VFS: written and flushed at once where that can be.
class OwnFlush : public GatheredLog {
 protected:
  std::unique_ptr<Connection> connection = open("");
};

TEST_F(OwnFlush, ShowsEveryCommitToOthersAtOnceWhateverItsSize) {
  ASSERT_TRUE(connection->script("PRAGMA synchronous=FULL;PRAGMA cache_size=10"));
  int rows = 0;
  for (const int count : {1, 3, 40, 2, 300, 1, 1, 25}) {
    ASSERT_TRUE(connection->script("BEGIN;" + insert(count) + "COMMIT"));
    rows += count;
    EXPECT_EQ(asked_by_another("SELECT count(*) FROM pages"), std::to_string(rows));
  }
  EXPECT_EQ(asked_by_another("PRAGMA integrity_check"), "ok");
}

TEST_F(OwnFlush, StandsWhenTheLogStartsOverAndAnotherConnectionWrites) {
  for (int round = 1; round <= 6; ++round) {
    ASSERT_TRUE(connection->script("BEGIN;" + insert(5) + "COMMIT"));
    EXPECT_EQ(asked_by_another((insert(5) + "SELECT count(*) FROM pages").c_str()),
              std::to_string(10 * round));
    if (round % 2 == 0) connection->checkpoint(true);
    connection->fill_log_ahead(1, 4096);
  }
  EXPECT_EQ(number(*connection, "SELECT count(*) FROM pages"), 60);
  EXPECT_EQ(asked_by_another("PRAGMA integrity_check"), "ok");
}

TEST_F(OwnFlush, ThatTheKernelRefusesFailsTheCommitAndNothingOfItIsThere) {
  ASSERT_TRUE(connection->script(insert(3)));
  // SQLite does not live through a fork with a file open.
  connection.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto own = Connection::open({.path = path()});
    const bool ready = own && (*own)->use_wal(false) &&
                       (*own)->script("UPDATE pages SET body = zeroblob(10) WHERE id = 1");
    if (!ready) ::_exit(2);
    // A log that may not become longer stands for a full disk.
    const rlim_t size = std::filesystem::file_size(path().string() + "-wal") + 5000;
    const rlimit limit{size, size};
    ::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(3);
    ::_exit((*own)->script("BEGIN;" + insert(20) + "COMMIT") ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(asked_by_another("SELECT count(*) FROM pages WHERE id > 1 OR body = zeroblob(10)"), "3");
  EXPECT_EQ(asked_by_another((insert(2) + "SELECT count(*) FROM pages").c_str()), "5");
  EXPECT_EQ(asked_by_another("PRAGMA integrity_check"), "ok");
}

TEST_F(GatheredLog, OverAVfsThatDoesNotExistIsRefusedByName) {
  const auto connection = Connection::open({.path = path(), .vfs = "no-such-vfs"});
  ASSERT_FALSE(connection);
  EXPECT_THAT(connection.error().message(), ::testing::HasSubstr("no-such-vfs"));
}

}  // namespace
}  // namespace berth
