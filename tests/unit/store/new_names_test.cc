// Names are found whether the table of names lists them yet or not, by whoever asks.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::commit;
using test::make_intent;
using test::value_of;

class NewNames : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteStore> open() { return test::open_store({.path = path()}); }
  std::filesystem::path path() const { return folder / "berth.db"; }

  // New calls `from` to `to`, in units of 64.
  static void make(SqliteStore& store, long from, long to) {
    for (long first = from; first < to; first += 64)
      ASSERT_TRUE(commit(store, [=](Transaction& rows) -> Status {
        for (long i = first; i < std::min(first + 64, to); ++i)
          BERTH_CHECK_OK(rows.insert_intent(make_intent(i)));
        return {};
      }));
  }
  // As one connection of the writer's kind and one of the reader's see it.
  static bool finds(SqliteStore& store, long number) {
    const std::string name = make_intent(number).name;
    const auto ask = [name](Transaction& rows) { return rows.intent(name); };
    auto written = std::make_shared<std::optional<Intent>>();
    EXPECT_TRUE(commit(store, [=](Transaction& rows) -> Status {
      BERTH_TRY(*written, ask(rows));
      return {};
    }));
    const auto read = value_of<std::optional<Intent>>(store, ask);
    EXPECT_EQ(read.has_value(), written->has_value()) << number;
    if (!read || !*written) return false;
    EXPECT_EQ(read->key, make_intent(number).key);
    EXPECT_EQ((*written)->key, make_intent(number).key);
    return true;
  }
  static bool takes_again(SqliteStore& store, long number) {
    // Another call under the same name, which only the name can give away.
    Intent intent = make_intent(1'000'000 + number);
    intent.name = make_intent(number).name;
    const Status done =
        commit(store, [intent](Transaction& rows) { return rows.insert_intent(intent); });
    EXPECT_EQ(done ? ErrorKind::kConflict : done.error().kind(), ErrorKind::kConflict);
    return done.has_value();
  }
  std::int64_t number(const char* sql) const {
    sqlite3* other = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    std::int64_t answer = -1;
    const auto take = [](void* into, int, char** values, char**) {
      *static_cast<std::int64_t*>(into) = std::stoll(values[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(other, sql, take, &answer, nullptr), SQLITE_OK) << sqlite3_errmsg(other);
    sqlite3_close(other);
    return answer;
  }
  std::int64_t listed() const { return number("SELECT count(*) FROM intent_names"); }

  test::Folder folder;
};

TEST_F(NewNames, AreListedManyAtATimeAndFoundBeforeAndAfter) {
  auto store = open();
  make(*store, 0, 100);
  EXPECT_EQ(listed(), 0);
  for (const long known : {0, 50, 99}) EXPECT_TRUE(finds(*store, known)) << known;
  make(*store, 100, 1500);
  EXPECT_GT(listed(), 1000);
  EXPECT_LT(listed(), 1500);
  for (int opened = 0; opened < 2; ++opened) {
    for (const long known : {0, 99, 600, 1000, 1498, 1499})
      EXPECT_TRUE(finds(*store, known)) << known;
    for (const long known : {0, 600, 1499}) EXPECT_FALSE(takes_again(*store, known)) << known;
    EXPECT_FALSE(finds(*store, 1500));
    store.reset();
    store = open();
  }
  EXPECT_EQ(number("SELECT count(*) FROM intents i LEFT JOIN intent_names n ON n.name = i.name AND "
                   "n.intent = i.seq WHERE i.seq <= (SELECT value FROM marks WHERE name = "
                   "'names_listed_to') AND n.name IS NULL"),
            0);
}

TEST_F(NewNames, OfAnotherProcessAreKnownWithItsCommit) {
  const auto ours = open();
  const auto theirs = open();
  for (long first = 0; first < 1600; first += 100) {
    SqliteStore& store = (first / 100) % 2 == 0 ? *ours : *theirs;
    make(store, first, first + 100);
  }
  EXPECT_GT(listed(), 1000);
  for (const auto* store : {&ours, &theirs}) {
    for (const long known : {0, 100, 850, 1450, 1599}) {
      EXPECT_TRUE(finds(**store, known)) << known;
      EXPECT_FALSE(takes_again(**store, known)) << known;
    }
  }
}

TEST_F(NewNames, OfAUnitThatFailedAreFreeAgain) {
  const auto store = open();
  make(*store, 0, 3);
  const Status failed = commit(*store, [](Transaction& rows) -> Status {
    BERTH_CHECK_OK(rows.insert_intent(make_intent(3)));
    return fail(ErrorKind::kRefused, "no");
  });
  EXPECT_FALSE(failed);
  EXPECT_FALSE(finds(*store, 3));
  make(*store, 3, 4);
  EXPECT_TRUE(finds(*store, 3));
  EXPECT_TRUE(finds(*store, 2));
  EXPECT_FALSE(takes_again(*store, 3));
}

TEST_F(NewNames, OfAStoreOfAnEarlierVersionAreAllListed) {
  std::ifstream dump(BERTH_STORE_FIXTURES "/schema_2.sql");
  ASSERT_TRUE(dump);
  const std::string sql{std::istreambuf_iterator<char>(dump), std::istreambuf_iterator<char>()};
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  const auto store = open();
  const auto intents = value_of<std::vector<Intent>>(
      *store, [](Transaction& rows) { return rows.intents({}); });
  ASSERT_FALSE(intents.empty());
  EXPECT_EQ(listed(), static_cast<std::int64_t>(intents.size()));
  for (const Intent& intent : intents) {
    const auto by_name = value_of<std::vector<Intent>>(
        *store, [&](Transaction& rows) { return rows.intents({.name = intent.name}); });
    ASSERT_EQ(by_name.size(), 1u);
    EXPECT_EQ(by_name[0].key, intent.key);
  }
  EXPECT_EQ(number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_3'"), 0);
  make(*store, 0, 1);
  EXPECT_TRUE(finds(*store, 0));
}

TEST_F(NewNames, AReceiptNeedsItsIntentAlsoInAStoreThatWasMadeAnew) {
  const auto store = open();
  ASSERT_TRUE(test::wait(test::good_run(*store, 1)));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(other,
                         "PRAGMA foreign_keys=ON; INSERT INTO receipts SELECT 99, owner, "
                         "settlement, cost, recorded_at, settled_at, evidence, exit_code, cause, "
                         "stdout_bytes, stderr_bytes, timings, provider_cpu_ns, provider_wall_ns, "
                         "provider_memory_peak_bytes, provider_cost FROM receipts",
                         nullptr, nullptr, nullptr),
            SQLITE_CONSTRAINT);
  sqlite3_close(other);
}

}  // namespace
}  // namespace berth
