// What a new call writes in one unit: its intent, unless it exists, and several lines at once.
#include <gmock/gmock.h>

#include <array>

#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::commit;
using test::make_intent;
using test::value_of;

class NewCalls : public ::testing::Test {
 protected:
  std::vector<JournalEntry> journal(const std::string& name) {
    return value_of<std::vector<JournalEntry>>(
        *store, [name](Transaction& rows) { return rows.journal(name); });
  }
  Result<std::vector<JournalEntry>> append(const std::string& name, int from, int count) {
    const Status done = commit(*store, [=](Transaction& rows) {
      std::vector<std::string> events;
      std::vector<JournalLine> lines;
      events.reserve(static_cast<std::size_t>(count));
      for (int i = from; i < from + count; ++i) {
        events.push_back("event-" + std::to_string(i));
        lines.push_back({IntentState::kCreated, IntentState::kRunning, events.back(), "a 'test'",
                         wall_time_from_unix_ms(1000 + i)});
      }
      return rows.append_lines(name, lines);
    });
    if (!done) return fail(done.error());
    return journal(name);
  }

  test::Folder folder;
  std::unique_ptr<SqliteStore> store = test::open_store({.path = folder / "berth.db"});
};

TEST_F(NewCalls, LinesAppendedTogetherStandAsIfAppendedOneByOne) {
  const std::string name = make_intent(1).name;
  ASSERT_TRUE(commit(*store, [](Transaction& rows) { return rows.insert_intent(make_intent(1)); }));
  int have = 0;
  for (const int count : {0, 1, 2, 3, 4, 7, 1}) {
    const auto lines = append(name, have, count);
    ASSERT_TRUE(lines) << lines.error().message();
    have += count;
    ASSERT_EQ(lines->size(), static_cast<std::size_t>(have));
  }
  const std::vector<JournalEntry> lines = journal(name);
  for (int i = 0; i < have; ++i) {
    const JournalEntry& line = lines[static_cast<std::size_t>(i)];
    EXPECT_EQ(line.event, "event-" + std::to_string(i));
    EXPECT_EQ(line.from, IntentState::kCreated);
    EXPECT_EQ(line.to, IntentState::kRunning);
    EXPECT_EQ(line.evidence, "a 'test'");
    EXPECT_EQ(line.at, wall_time_from_unix_ms(1000 + i));
  }
}

TEST_F(NewCalls, LinesOfNoIntentAreRefusedAndNoneOfThemStays) {
  const auto lines = append("berth-unknown", 0, 2);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().kind(), ErrorKind::kNotFound);
  EXPECT_TRUE(journal("berth-unknown").empty());
}

TEST_F(NewCalls, AnIntentIsWrittenOnceForItsNameAndItsCall) {
  const auto written = [&](Intent intent) {
    auto answer = std::make_shared<bool>();
    EXPECT_TRUE(commit(*store, [intent, answer](Transaction& rows) -> Status {
      BERTH_TRY(*answer, rows.insert_new_intent(intent));
      // Not the end of the unit: it may look at what is there instead.
      BERTH_TRY(const std::optional<std::uint64_t> revision, rows.revision_of(make_intent(1).name));
      EXPECT_EQ(revision, make_intent(1).revision);
      return {};
    }));
    return *answer;
  };
  EXPECT_TRUE(written(make_intent(1)));
  EXPECT_FALSE(written(make_intent(1)));
  Intent same_call = make_intent(2);
  same_call.key = make_intent(1).key;
  EXPECT_FALSE(written(same_call));
  Intent same_name = make_intent(3);
  same_name.name = make_intent(1).name;
  EXPECT_FALSE(written(same_name));
  EXPECT_TRUE(written(make_intent(2)));
}

TEST_F(NewCalls, TheRevisionOfWhatIsNotStoredIsNothing) {
  const auto revision = value_of<std::optional<std::uint64_t>>(
      *store, [](Transaction& rows) { return rows.revision_of("berth-unknown"); });
  EXPECT_FALSE(revision);
}

}  // namespace
}  // namespace berth
