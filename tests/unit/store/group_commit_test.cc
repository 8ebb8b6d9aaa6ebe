// How units of concurrent calls share commits. Commits are counted, never timed.
#include <gmock/gmock.h>

#include <mutex>
#include <thread>

#include "tests/store/crowd.h"
#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::commit;
using test::Crowd;
using test::make_intent;
using ::testing::ElementsAre;

class GroupCommit : public ::testing::Test {
 protected:
  void open(std::size_t batch_max = 256, std::size_t queue_max = 65'536) {
    store =
        test::open_store({.path = folder / "berth.db",
                          .queue_max = queue_max,
                          .batch_max = batch_max,
                          .on_commit = [this](std::size_t units) { batches.push_back(units); }});
  }
  bool stored(long number) {
    return test::value_of<std::optional<Intent>>(
               *store,
               [number](Transaction& rows) { return rows.intent(make_intent(number).name); })
        .has_value();
  }
  static UnitOfWork insert(long number) {
    return [number](Transaction& rows) { return rows.insert_intent(make_intent(number)); };
  }

  test::Folder folder;
  std::vector<std::size_t> batches;  // written by the writer's thread, read when it is idle
  std::unique_ptr<SqliteStore> store;
};

TEST_F(GroupCommit, UnitsThatArriveDuringACommitShareTheNext) {
  open();
  Crowd crowd(*store);
  for (long number = 0; number < 20; ++number) crowd.add(insert(number));
  crowd.run_together();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(crowd.answer(i)) << i;
  EXPECT_EQ(store->counters().units, 21u);
  store.reset();
  EXPECT_THAT(batches, ElementsAre(1, 20));
}

TEST_F(GroupCommit, ACallerWhoIsAloneIsCommittedAtOnce) {
  open();
  for (long number = 0; number < 3; ++number) ASSERT_TRUE(commit(*store, insert(number)));
  store.reset();
  EXPECT_THAT(batches, ElementsAre(1, 1, 1));
}

TEST_F(GroupCommit, ABatchHasABound) {
  open(8);
  Crowd crowd(*store);
  for (long number = 0; number < 20; ++number) crowd.add(insert(number));
  crowd.run_together();
  store.reset();
  EXPECT_THAT(batches, ElementsAre(1, 8, 8, 4));
}

TEST_F(GroupCommit, CallersWhoWereAnsweredTogetherCommitTogetherAgain) {
  open();
  boost::asio::io_context loop(1);
  auto caller = [](Store& on, long number) -> Task<void> {
    const Status done = co_await test::good_run(on, number);
    EXPECT_TRUE(done);
  };
  for (long number = 0; number < 32; ++number)
    boost::asio::co_spawn(loop, caller(*store, number), boost::asio::detached);
  loop.run();
  store.reset();
  std::size_t units = 0;
  for (const std::size_t batch : batches) units += batch;
  EXPECT_EQ(units, 96u);
  // The first may go alone and split the crowd once; from then on nobody is left behind.
  EXPECT_LE(batches.size(), 7u);
}

TEST_F(GroupCommit, AnswersComeOnlyAfterTheCommit) {
  std::atomic<int> answered{0};
  std::vector<int> answered_before_commit;
  store = test::open_store({.path = folder / "berth.db", .on_commit = [&](std::size_t) {
                              answered_before_commit.push_back(answered.load());
                            }});
  boost::asio::io_context loop(1);
  auto caller = [](Store& on, long number, std::atomic<int>& count) -> Task<void> {
    UnitOfWork work = GroupCommit::insert(number);
    const Status done = co_await on.commit(std::move(work));
    EXPECT_TRUE(done);
    ++count;
  };
  for (long number = 0; number < 5; ++number)
    boost::asio::co_spawn(loop, caller(*store, number, answered), boost::asio::detached);
  loop.run();
  store.reset();
  ASSERT_FALSE(answered_before_commit.empty());
  EXPECT_EQ(answered_before_commit[0], 0);
  EXPECT_LT(answered_before_commit.back(), 5);
}

TEST_F(GroupCommit, UnitsRunInTheOrderTheyCame) {
  open();
  std::vector<long> order;
  Crowd crowd(*store);
  for (long number = 0; number < 10; ++number) {
    crowd.add([&order, number](Transaction&) -> Status {
      order.push_back(number);
      return {};
    });
  }
  crowd.run_together();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(GroupCommit, AUnitThatFailsTakesOnlyItselfAway) {
  open();
  Crowd crowd(*store);
  crowd.add(insert(1));
  crowd.add([](Transaction& rows) -> Status {
    BERTH_CHECK_OK(rows.insert_intent(make_intent(2)));
    BERTH_CHECK_OK(rows.append_journal({make_intent(2).name, IntentState::kIntended,
                                        IntentState::kDispatched, "dispatch", "", WallTime()}));
    return fail(ErrorKind::kRefused, "on second thoughts");
  });
  crowd.add(insert(3));
  crowd.run_together();
  EXPECT_TRUE(crowd.answer(0));
  ASSERT_FALSE(crowd.answer(1));
  EXPECT_EQ(crowd.answer(1).error().kind(), ErrorKind::kRefused);
  EXPECT_EQ(crowd.answer(1).error().message(), "on second thoughts");
  EXPECT_TRUE(crowd.answer(2));
  EXPECT_TRUE(stored(1));
  EXPECT_FALSE(stored(2));
  EXPECT_TRUE(stored(3));
}

TEST_F(GroupCommit, AFailedUnitIsForgottenByThoseAfterIt) {
  open();
  Crowd crowd(*store);
  crowd.add([](Transaction& rows) -> Status {
    BERTH_CHECK_OK(rows.insert_intent(make_intent(1)));
    BERTH_CHECK_OK(rows.put_session({"owner-1", "session-1", SessionState::kRetired, WallTime()}));
    return fail(ErrorKind::kRefused, "no");
  });
  crowd.add([](Transaction& rows) -> Status {
    BERTH_TRY(const auto intent, rows.intent(make_intent(1).name));
    BERTH_TRY(const auto session, rows.session("owner-1", "session-1"));
    if (intent || session) return fail(ErrorKind::kInternal, "it sees what was rolled back");
    return {};
  });
  crowd.run_together();
  EXPECT_FALSE(crowd.answer(0));
  EXPECT_TRUE(crowd.answer(1));
}

TEST_F(GroupCommit, AUnitSeesWhatEarlierUnitsOfItsBatchWrote) {
  open();
  Crowd crowd(*store);
  crowd.add(insert(1));
  crowd.add(insert(1));
  crowd.run_together();
  EXPECT_TRUE(crowd.answer(0));
  ASSERT_FALSE(crowd.answer(1));
  EXPECT_EQ(crowd.answer(1).error().kind(), ErrorKind::kConflict);
}

TEST_F(GroupCommit, AnErrorThatTheWorkSwallowsStillEndsTheUnit) {
  open();
  ASSERT_TRUE(commit(*store, insert(1)));
  const Status done = commit(*store, [](Transaction& rows) -> Status {
    BERTH_CHECK_OK(rows.insert_intent(make_intent(2)));
    (void)rows.insert_intent(make_intent(1));
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kConflict);
  EXPECT_FALSE(stored(2));
}

TEST_F(GroupCommit, AUnitThatThrowsIsAnErrorAndNoMore) {
  open();
  const Status done = commit(*store, [](Transaction& rows) -> Status {
    BERTH_CHECK_OK(rows.insert_intent(make_intent(1)));
    throw std::runtime_error("surprise");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kInternal);
  EXPECT_THAT(done.error().message(), ::testing::HasSubstr("surprise"));
  EXPECT_FALSE(stored(1));
  EXPECT_TRUE(commit(*store, insert(1)));
}

TEST_F(GroupCommit, AFullQueueRefusesAtOnce) {
  open(256, 2);
  Crowd crowd(*store);
  for (long number = 0; number < 4; ++number) crowd.add(insert(number));
  crowd.run_together();
  EXPECT_TRUE(crowd.answer(0));
  EXPECT_TRUE(crowd.answer(1));
  for (const std::size_t i : {2u, 3u}) {
    ASSERT_FALSE(crowd.answer(i));
    EXPECT_EQ(crowd.answer(i).error().kind(), ErrorKind::kLimit);
  }
}

TEST_F(GroupCommit, ACallerIsResumedOnItsOwnThread) {
  open();
  std::thread::id before, after, worker;
  auto caller = [&]() -> Task<void> {
    before = std::this_thread::get_id();
    UnitOfWork work = [&worker](Transaction&) -> Status {
      worker = std::this_thread::get_id();
      return {};
    };
    (void)co_await store->commit(std::move(work));
    after = std::this_thread::get_id();
  };
  boost::asio::io_context loop(1);
  boost::asio::co_spawn(loop, caller(), boost::asio::detached);
  loop.run();
  EXPECT_EQ(before, after);
  EXPECT_NE(before, worker);
}

TEST_F(GroupCommit, AReadDoesNotWaitForTheWriterAndSeesOnlyWhatIsCommitted) {
  open();
  ASSERT_TRUE(commit(*store, insert(1)));
  std::promise<void> held, let_go;
  std::shared_future<void> until = let_go.get_future().share();
  std::thread writer([&] {
    EXPECT_TRUE(commit(*store, [&held, until](Transaction& rows) -> Status {
      BERTH_CHECK_OK(rows.insert_intent(make_intent(2)));
      held.set_value();
      until.wait();
      return {};
    }));
  });
  held.get_future().wait();
  EXPECT_TRUE(stored(1));
  EXPECT_FALSE(stored(2));
  let_go.set_value();
  writer.join();
  EXPECT_TRUE(stored(2));
}

TEST_F(GroupCommit, AReadThatWritesIsRefused) {
  open();
  const Status done = test::read(*store, insert(1));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kRefused);
  EXPECT_FALSE(stored(1));
}

TEST_F(GroupCommit, WhatAnotherConnectionCommittedIsSeenByTheNextUnit) {
  open();
  const auto other = test::open_store({.path = folder / "berth.db"});
  ASSERT_TRUE(commit(*store, insert(1)));
  for (std::uint64_t revision = 1; revision < 6; ++revision) {
    Store& turn = revision % 2 == 0 ? *store : *other;
    ASSERT_TRUE(commit(turn, [revision](Transaction& rows) -> Status {
      BERTH_TRY(auto intent, rows.intent(make_intent(1).name));
      if (intent->revision != revision) return fail(ErrorKind::kInternal, "a stale row");
      intent->revision = revision + 1;
      return rows.update_intent(*intent, revision);
    })) << revision;
  }
}

TEST_F(GroupCommit, TheLogDoesNotGrowWithoutBound) {
  store = test::open_store({.path = folder / "berth.db", .log_frames_max = 64});
  for (long number = 0; number < 150; ++number)
    ASSERT_TRUE(test::wait(test::good_run(*store, number)));
  EXPECT_LT(std::filesystem::file_size(folder / "berth.db-wal"), std::uintmax_t{2} << 20);
  EXPECT_GT(std::filesystem::file_size(folder / "berth.db"), std::uintmax_t{100} << 10);
}

TEST_F(GroupCommit, ResultsExpireOldestFirstWithinTheirBound) {
  open();
  for (long number = 0; number < 10; ++number) {
    Intent intent = make_intent(number);
    intent.state = number == 2 ? IntentState::kCleaning : IntentState::kReleased;
    intent.updated_at = wall_time_from_unix_ms(number);
    intent.result = std::string(100'000, 'r');
    ASSERT_TRUE(commit(*store, [intent](Transaction& rows) { return rows.insert_intent(intent); }));
  }
  const auto left = [&] {
    std::string text;
    for (const Intent& intent : test::value_of<std::vector<Intent>>(
             *store, [](Transaction& rows) { return rows.intents({}); })) {
      EXPECT_NE(intent.result.has_value(), intent.result_expired);
      if (intent.result) text += intent.key.call.back();
    }
    return text;
  };
  const auto expire = [&](int before_ms, std::size_t count_max) {
    return test::wait(store->expire_results(wall_time_from_unix_ms(before_ms), count_max)).value();
  };
  EXPECT_EQ(expire(8, 3), 3u);
  EXPECT_EQ(left(), "2456789");
  EXPECT_EQ(expire(8, 100), 4u);
  EXPECT_EQ(left(), "289");
  EXPECT_EQ(expire(8, 100), 0u);
  // Settled late, it expires as well.
  ASSERT_TRUE(commit(*store, [](Transaction& rows) -> Status {
    BERTH_TRY(auto intent, rows.intent(make_intent(2).name));
    intent->state = IntentState::kReleased;
    intent->revision = 2;
    return rows.update_intent(*intent, 1);
  }));
  EXPECT_EQ(expire(8, 100), 1u);
  EXPECT_EQ(left(), "89");
  const auto lines = test::value_of<std::vector<JournalEntry>>(
      *store, [](Transaction& rows) { return rows.journal(make_intent(0).name); });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].event, "expire");
  // What was freed is given back: eight results of 25 pages each are gone from the file.
  ASSERT_TRUE(commit(*store, insert(100)));
  store.reset();
  EXPECT_LT(std::filesystem::file_size(folder / "berth.db"), std::uintmax_t{600'000});
}

}  // namespace
}  // namespace berth
