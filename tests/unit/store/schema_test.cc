// Opening files: new, old, newer, foreign, broken, forbidden; and what the schema itself refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "core/store/sqlite/schema.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using sqlite::Connection;
using sqlite::Migration;
using test::make_intent;
using ::testing::HasSubstr;

class Schema : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder / "berth.db"; }
  Error refusal() {
    auto store = SqliteStore::open({.path = path(), .busy_wait = std::chrono::milliseconds(200)});
    EXPECT_FALSE(store);
    return store ? Error(ErrorKind::kInternal, "it was opened") : store.error();
  }
  // Runs SQL as an operator with the sqlite3 tool would; its error message, empty when it worked.
  std::string sql(const std::string& text) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    char* said = nullptr;
    sqlite3_exec(database, text.c_str(), nullptr, nullptr, &said);
    std::string error = said == nullptr ? "" : said;
    sqlite3_free(said);
    sqlite3_close(database);
    return error;
  }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void make_store_with_a_run() {
    const auto store = test::open_store({.path = path()});
    ASSERT_TRUE(test::wait(test::good_run(*store, 1)));
    const Posting posting{"k", "grants", "owner:o", Money::cents(1), "", WallTime()};
    ASSERT_TRUE(test::commit(
        *store, [posting](Transaction& rows) { return rows.ledger().insert_posting(posting); }));
  }

  test::Folder folder;
};

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

TEST_F(Schema, EveryFileIsForItsUserAlone) {
  const mode_t before = ::umask(0);
  const auto store = test::open_store({.path = path()});
  ASSERT_TRUE(test::wait(test::good_run(*store, 1)));
  ::umask(before);
  for (const char* name : {"berth.db", "berth.db-wal", "berth.db-shm"})
    EXPECT_EQ(mode_of(folder / name), 0600u) << name;
}

TEST_F(Schema, AFileThatOthersCanReadIsClosedToThem) {
  make_store_with_a_run();
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  const auto store = test::open_store({.path = path()});
  EXPECT_EQ(mode_of(path()), 0600u);
}

TEST_F(Schema, AMissingFolderIsNamed) {
  auto store = SqliteStore::open({.path = folder / "missing" / "berth.db"});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(store.error().message(), HasSubstr("missing/berth.db"));
  EXPECT_THAT(store.error().message(), HasSubstr("BERTH_STATE_DIR"));
}

TEST_F(Schema, AFolderOrALinkInItsPlaceIsRefused) {
  std::filesystem::create_directory(path());
  EXPECT_THAT(refusal().message(), HasSubstr("not a regular file"));
  std::filesystem::remove(path());
  std::filesystem::create_symlink(folder / "elsewhere", path());
  EXPECT_THAT(refusal().message(), HasSubstr("not a regular file"));
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST_F(Schema, AFolderThatCannotBeWrittenIsAClearError) {
  // The superuser may write anywhere, so the attempt is made by another user, in another process.
  constexpr uid_t kNobody = 65534;
  const bool super = ::geteuid() == 0;
  if (super) {
    ASSERT_EQ(::chown(folder.path().c_str(), kNobody, kNobody), 0);
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (super && (::setresgid(kNobody, kNobody, kNobody) != 0 ||
                  ::setresuid(kNobody, kNobody, kNobody) != 0))
      ::_exit(1);
    auto store = SqliteStore::open({.path = path()});
    const std::string said = store ? "it was opened" : store.error().message();
    ::_exit(::write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said(4096, '\0');
  const ssize_t got = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  said.resize(static_cast<std::size_t>(got));
  EXPECT_THAT(said, HasSubstr("make its folder writable"));
  EXPECT_THAT(said, HasSubstr("Permission denied"));
}

TEST_F(Schema, WhatIsNoDatabaseIsRefusedAndLeftAlone) {
  std::ofstream(path()) << std::string(5000, 'x');
  const std::string before = bytes();
  const Error error = refusal();
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_THAT(error.message(), HasSubstr("no SQLite database"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(Schema, ADatabaseOfAnotherProgramIsRefusedAndLeftAlone) {
  ASSERT_EQ(sql("CREATE TABLE notes (text TEXT)"), "");
  const std::string before = bytes();
  const Error error = refusal();
  EXPECT_EQ(error.kind(), ErrorKind::kRefused);
  EXPECT_THAT(error.message(), HasSubstr("another program"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(Schema, OpeningAStoreAgainWritesNothing) {
  make_store_with_a_run();
  const auto store = test::open_store({.path = path()});
  EXPECT_EQ(std::filesystem::file_size(path().string() + "-wal"), 0u);
}

TEST_F(Schema, AStoreThatAnotherProcessMakesWhileThisOneOpensItIsOpened) {
  int times_made = 0;
  for (int nth = 1; nth <= 6; ++nth) {
    const auto path = folder / fmt::format("berth-{}.db", nth);
    bool came = false;
    test::FaultVfs::before_shared_lock(nth, [&] {
      came = true;
      EXPECT_TRUE(SqliteStore::open({.path = path}));
    });
    const auto store = SqliteStore::open({.path = path, .vfs = test::FaultVfs::name()});
    EXPECT_TRUE(store) << "made before lock " << nth << ": " << store.error().message();
    times_made += came ? 1 : 0;
  }
  test::FaultVfs::before_shared_lock(0, nullptr);
  EXPECT_GE(times_made, 3);
}

TEST_F(Schema, ADamagedStoreSaysWhatToDo) {
  make_store_with_a_run();
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(std::size_t{1} << 18, '\xee');
  }
  auto store = SqliteStore::open({.path = path()});
  const Status done = store ? test::wait(test::good_run(**store, 2)) : Status(fail(store.error()));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kCorrupt);
  EXPECT_THAT(done.error().message(), HasSubstr("restore a backup"));
}

std::vector<Migration> steps_with(const char* next) {
  std::vector<Migration> steps(sqlite::migrations().begin(), sqlite::migrations().end());
  steps.push_back({steps.back().version + 1, next});
  return steps;
}

TEST_F(Schema, ANewerStoreIsRefusedByAnOlderProgram) {
  make_store_with_a_run();
  {
    auto newer =
        sqlite::open_migrated({.path = path()}, steps_with("CREATE TABLE more (a ANY) STRICT"));
    ASSERT_TRUE(newer) << newer.error().message();
  }
  const Error error = refusal();
  EXPECT_EQ(error.kind(), ErrorKind::kRefused);
  EXPECT_THAT(error.message(), HasSubstr("newer berth"));
  EXPECT_EQ(sql("INSERT INTO more VALUES (1)"), "") << "its new table is still there";
}

TEST_F(Schema, AMigrationKeepsEveryRow) {
  make_store_with_a_run();
  const auto steps =
      steps_with("ALTER TABLE intents ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'");
  auto connection = sqlite::open_migrated({.path = path()}, steps);
  ASSERT_TRUE(connection) << connection.error().message();
  auto rows =
      (*connection)->use("SELECT count(*), min(colour) FROM intents WHERE state = 'RELEASED'");
  ASSERT_TRUE(rows && rows->step().value());
  EXPECT_EQ(rows->next_integer(), 1);
  EXPECT_EQ(rows->next_text(), "red");
  // The second time there is nothing to do.
  EXPECT_TRUE(sqlite::open_migrated({.path = path()}, steps));
}

TEST_F(Schema, AMigrationThatFailsLeavesTheOldVersion) {
  make_store_with_a_run();
  const auto broken = sqlite::open_migrated(
      {.path = path()},
      steps_with("CREATE TABLE half (a ANY) STRICT; INSERT INTO nowhere VALUES (1)"));
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message(), HasSubstr("migrating the store to schema version"));
  EXPECT_THAT(sql("SELECT * FROM half"), HasSubstr("no such table"));
  const auto store = test::open_store({.path = path()});
  EXPECT_TRUE(test::wait(test::good_run(*store, 2)));
}

TEST_F(Schema, AStoreOfVersionOneIsReadByThisProgram) {
  std::ifstream dump(BERTH_STORE_FIXTURES "/schema_1.sql");
  ASSERT_TRUE(dump);
  ASSERT_EQ(sql({std::istreambuf_iterator<char>(dump), std::istreambuf_iterator<char>()}), "");
  const auto store = test::open_store({.path = path()});
  const auto intents = test::value_of<std::vector<Intent>>(
      *store, [](Transaction& rows) { return rows.intents({}); });
  ASSERT_EQ(intents.size(), 2u);
  EXPECT_EQ(intents[0].key, (CallKey{"ann", "s1", "c1"}));
  EXPECT_EQ(intents[0].state, IntentState::kReleased);
  EXPECT_EQ(intents[0].result, "{\"ok\":true}");
  EXPECT_EQ(intents[0].scope, (Scope{{"account", "a-1"}}));
  EXPECT_EQ(intents[1].state, IntentState::kUncertain);
  EXPECT_EQ(intents[1].holder, (Holder{"boot-1", "host-1", "/state/hosts/1.lock"}));
  const std::string name = intents[0].name;
  const auto lines = test::value_of<std::vector<JournalEntry>>(
      *store, [name](Transaction& rows) { return rows.journal(name); });
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].event, "release");
  const auto receipts = test::value_of<std::vector<Receipt>>(
      *store, [](Transaction& rows) { return rows.receipts({}); });
  ASSERT_EQ(receipts.size(), 2u);
  EXPECT_EQ(receipts[0].cost, Money::micros(50'000));
  EXPECT_EQ(receipts[0].timings_us,
            (std::vector<std::pair<std::string, std::int64_t>>{{"run", 12}}));
  EXPECT_FALSE(receipts[1].cost);
  EXPECT_EQ(test::value_of<Money>(
                *store, [](Transaction& rows) { return rows.ledger().balance("owner:ann"); }),
            Money::micros(450'000));
  EXPECT_EQ(test::value_of<std::optional<SessionRecord>>(
                *store, [](Transaction& rows) { return rows.session("ann", "s0"); })
                ->state,
            SessionState::kRetired);
  EXPECT_TRUE(test::wait(test::good_run(*store, 7)));
}

TEST_F(Schema, WhatIsEvidenceCannotBeRewrittenByAnyProgram) {
  make_store_with_a_run();
  for (const char* table : {"journal", "postings"}) {
    EXPECT_THAT(sql(std::string("DELETE FROM ") + table), HasSubstr("append-only")) << table;
  }
  EXPECT_THAT(sql("UPDATE journal SET event = 'x'"), HasSubstr("append-only"));
  EXPECT_THAT(sql("UPDATE postings SET amount = 0"), HasSubstr("append-only"));
  EXPECT_THAT(sql("DELETE FROM receipts"), HasSubstr("kept for ever"));
  EXPECT_THAT(sql("UPDATE receipts SET cost = 1"), HasSubstr("final"));
  EXPECT_THAT(sql("DELETE FROM intents"), HasSubstr("kept for ever"));
  EXPECT_THAT(sql("UPDATE intents SET state = 'GONE'"), HasSubstr("CHECK"));
  EXPECT_THAT(sql("UPDATE intents SET open = 1"), HasSubstr("CHECK"));
}

}  // namespace
}  // namespace berth
