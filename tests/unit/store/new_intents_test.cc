// Names and calls are found whether a table lists them yet or not, by whoever asks.
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

class NewIntents : public ::testing::Test {
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
  // By its name and by its call, as one connection of the writer's kind and one of the reader's see it.
  static bool finds(SqliteStore& store, long number) {
    const Intent intent = make_intent(number);
    using Answer = std::optional<Intent>;
    const auto by_name = [intent](Transaction& rows) { return rows.intent(intent.name); };
    const auto by_call = [intent](Transaction& rows) { return rows.intent_of_call(intent.key); };
    std::vector<Answer> answers;
    for (const auto& ask : {std::function<Result<Answer>(Transaction&)>(by_name),
                            std::function<Result<Answer>(Transaction&)>(by_call)}) {
      auto written = std::make_shared<Answer>();
      EXPECT_TRUE(commit(store, [=](Transaction& rows) -> Status {
        BERTH_TRY(*written, ask(rows));
        return {};
      }));
      answers.push_back(*written);
      answers.push_back(value_of<Answer>(store, ask));
    }
    for (const Answer& answer : answers) {
      EXPECT_EQ(answer.has_value(), answers[0].has_value()) << number;
      if (answer) {
        EXPECT_EQ(answer->name, intent.name);
        EXPECT_EQ(answer->key, intent.key);
      }
    }
    return answers[0].has_value();
  }
  // Another call under the same name, or the same call under another, which one of both gives away.
  static bool takes_again(SqliteStore& store, long number) {
    const auto takes = [&store](const Intent& intent) {
      const Status done =
          commit(store, [intent](Transaction& rows) { return rows.insert_intent(intent); });
      EXPECT_EQ(done ? ErrorKind::kConflict : done.error().kind(), ErrorKind::kConflict);
      return done.has_value();
    };
    Intent same_name = make_intent(1'000'000 + number);
    same_name.name = make_intent(number).name;
    Intent same_call = make_intent(2'000'000 + number);
    same_call.key = make_intent(number).key;
    const bool took_name = takes(same_name);
    return takes(same_call) || took_name;
  }
  void load(const char* fixture) {
    std::ifstream dump(std::filesystem::path(BERTH_STORE_FIXTURES) / fixture);
    ASSERT_TRUE(dump);
    EXPECT_EQ(sql({std::istreambuf_iterator<char>(dump), std::istreambuf_iterator<char>()}), "");
  }
  // Runs SQL as another program would; its error message, empty when it worked.
  std::string sql(const std::string& text) {
    sqlite3* other = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    char* said = nullptr;
    sqlite3_exec(other, text.c_str(), nullptr, nullptr, &said);
    std::string error = said == nullptr ? "" : said;
    sqlite3_free(said);
    sqlite3_close(other);
    return error;
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
  std::int64_t listed() const {
    const std::int64_t names = number("SELECT count(*) FROM intent_names");
    EXPECT_EQ(number("SELECT count(*) FROM intent_calls"), names);
    return names;
  }

  test::Folder folder;
};

TEST_F(NewIntents, AreListedManyAtATimeAndFoundBeforeAndAfter) {
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
                   "n.intent = i.seq LEFT JOIN intent_calls c ON c.owner = i.owner AND c.session = "
                   "i.session AND c.call = i.call AND c.intent = i.seq WHERE i.seq <= (SELECT value "
                   "FROM marks WHERE name = 'listed_to') AND (n.name IS NULL OR c.call IS NULL)"),
            0);
}

TEST_F(NewIntents, OfAnotherProcessAreKnownWithItsCommit) {
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

TEST_F(NewIntents, OfAUnitThatFailedAreFreeAgain) {
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

TEST_F(NewIntents, AreOneForEachCallOfSeveralProcessesThatMakeTheSame) {
  const auto ours = open();
  const auto theirs = open();
  int made = 0;
  for (long i = 0; i < 1200; ++i)
    for (const auto* store : {&ours, &theirs}) {
      // Under names of their own, as two configurations of a provider would.
      Intent intent = make_intent(i, store == &ours ? "ours" : "theirs");
      intent.key = make_intent(i).key;
      const Status done =
          commit(**store, [intent](Transaction& rows) { return rows.insert_intent(intent); });
      made += done ? 1 : 0;
    }
  EXPECT_EQ(made, 1200);
  EXPECT_EQ(number("SELECT count(*) FROM (SELECT DISTINCT owner, session, call FROM intents)"), 1200);
  EXPECT_EQ(number("SELECT count(*) FROM intents"), 1200);
}

TEST_F(NewIntents, ThatAnotherProgramMadeTwiceAreNotListed) {
  const auto store = open();
  make(*store, 0, 2);
  const std::string columns =
      "owner, session, call, turn, place, spec_digest, created_at, holder, state, open, "
      "dispatched, cancel_requested, ref, result_expired, updated_at, cleanup_attempts, "
      "last_error, last_stage, revision";
  ASSERT_EQ(sql("INSERT INTO intents (name, " + columns + ") SELECT 'berth-again', " + columns +
                " FROM intents WHERE seq = 1"),
            "");
  bool told = false;
  for (long i = 2; i < 2000 && !told; ++i) {
    const Status done = commit(
        *store, [i](Transaction& rows) { return rows.insert_intent(make_intent(i)); });
    told = !done;
    if (told) {
      EXPECT_THAT(done.error().message(), ::testing::HasSubstr("intent_calls"));
    }
  }
  EXPECT_TRUE(told);
  EXPECT_EQ(listed(), 0);
}

TEST_F(NewIntents, KeepTheirNameAndCallForEver) {
  const auto store = open();
  make(*store, 0, 2);
  for (const char* column : {"name", "owner", "session", "call"})
    EXPECT_THAT(sql(std::string("UPDATE intents SET ") + column + " = 'other' WHERE seq = 1"),
                ::testing::HasSubstr("keeps its name and its call"))
        << column;
}

TEST_F(NewIntents, ShareTheRowsOfTheirHolderAndProvider) {
  const auto store = open();
  const auto theirs = open();
  const auto rows_of = [this](const char* table) {
    return number((std::string("SELECT count(*) FROM ") + table).c_str());
  };
  const auto insert = [](SqliteStore& into, long i, const char* host, Status end) {
    return commit(into, [=](Transaction& rows) -> Status {
      Intent intent = make_intent(i);
      intent.holder.host_id = host;
      intent.provider_version = host;
      BERTH_CHECK_OK(rows.insert_intent(intent));
      return end;
    });
  };
  const Status good;
  ASSERT_TRUE(insert(*store, 0, "a", good));
  ASSERT_TRUE(insert(*store, 1, "a", good));
  EXPECT_EQ(rows_of("holders"), 1);
  EXPECT_EQ(rows_of("places"), 1);
  // What a failed unit made is gone with it, and made again.
  EXPECT_FALSE(insert(*store, 2, "b", fail(ErrorKind::kRefused, "no")));
  EXPECT_EQ(rows_of("places"), 1);
  ASSERT_TRUE(insert(*theirs, 2, "c", good));
  ASSERT_TRUE(insert(*store, 3, "c", good));
  ASSERT_TRUE(insert(*store, 4, "b", good));
  ASSERT_TRUE(insert(*theirs, 5, "b", good));
  EXPECT_EQ(rows_of("holders"), 3);
  EXPECT_EQ(rows_of("places"), 3);
  EXPECT_EQ(number("SELECT count(*) FROM intents i JOIN holders h ON h.number = i.holder JOIN places "
                   "p ON p.number = i.place WHERE h.host_id = p.provider_version"),
            6);
}

TEST_F(NewIntents, OfAStoreOfAnEarlierVersionAreAllListed) {
  for (const char* fixture : {"schema_1.sql", "schema_2.sql", "schema_3.sql"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      std::filesystem::remove(file.path());
    load(fixture);
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
      const auto by_call = value_of<std::optional<Intent>>(
          *store, [&](Transaction& rows) { return rows.intent_of_call(intent.key); });
      ASSERT_TRUE(by_call);
      EXPECT_EQ(by_call->name, intent.name);
    }
    EXPECT_EQ(number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'intents_[0-9]'"), 0);
    make(*store, 0, 1);
    EXPECT_TRUE(finds(*store, 0));
  }
}

TEST_F(NewIntents, OfVersionThreeKeepTheirHolderAndProvider) {
  load("schema_3.sql");
  const auto store = open();
  const auto intents = value_of<std::vector<Intent>>(
      *store, [](Transaction& rows) { return rows.intents({}); });
  ASSERT_EQ(intents.size(), 4u);
  EXPECT_EQ(intents[1].holder, (Holder{"boot-1", "host-1", "/state/hosts/1.lock"}));
  EXPECT_EQ(intents[1].last_error, "lost");
  EXPECT_EQ(intents[2].holder, (Holder{"boot-2", "host-2", "/state/hosts/2.lock"}));
  EXPECT_EQ(intents[2].provider_version, "0.2.0");
  EXPECT_EQ(intents[2].provider_digest, "e");
  EXPECT_EQ(intents[2].scope, (Scope{{"account", "a-1"}}));
  EXPECT_EQ(intents[2].turn, "t1");
  EXPECT_EQ(intents[3].holder, Holder());
  EXPECT_EQ(intents[3].provider_id, "far");
  EXPECT_TRUE(intents[3].scope.empty());
  EXPECT_EQ(intents[3].last_error, "cancelled");
}

TEST_F(NewIntents, AReceiptNeedsItsIntentAlsoInAStoreThatWasMadeAnew) {
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
