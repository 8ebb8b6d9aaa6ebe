// Every method of the store's interface, over a real file.
#include <gmock/gmock.h>

#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::commit;
using test::make_intent;
using test::make_receipt;
using test::read;
using test::value_of;

class Rows : public ::testing::Test {
 protected:
  void insert(const Intent& intent) {
    ASSERT_TRUE(commit(*store, [intent](Transaction& rows) { return rows.insert_intent(intent); }));
  }
  std::optional<Intent> intent(const std::string& name) {
    return value_of<std::optional<Intent>>(*store,
                                           [name](Transaction& rows) { return rows.intent(name); });
  }
  ErrorKind refusal(UnitOfWork work) {
    const Status done = commit(*store, std::move(work));
    EXPECT_FALSE(done);
    return done ? ErrorKind::kInternal : done.error().kind();
  }

  test::Folder folder;
  std::unique_ptr<SqliteStore> store = test::open_store({.path = folder / "berth.db"});
};

Intent full_intent() {
  Intent intent = make_intent(7);
  intent.scope = {{"account", "a \"quoted\" one"}, {"endpoint", "https://x.test/\xc3\xa4"}};
  intent.state = IntentState::kCleaning;
  intent.cancel_requested = true;
  intent.ref = "ref-1";
  intent.result = std::string("{\"a\":\0 1}", 9);
  intent.cleanup_attempts = 3;
  intent.last_error = "the provider is down";
  intent.last_stage = "destroy";
  intent.updated_at = intent.created_at + std::chrono::milliseconds(5);
  intent.revision = 4;
  return intent;
}

void expect_equal(const Intent& a, const Intent& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.turn, b.turn);
  EXPECT_EQ(a.provider_id, b.provider_id);
  EXPECT_EQ(a.provider_version, b.provider_version);
  EXPECT_EQ(a.provider_digest, b.provider_digest);
  EXPECT_EQ(a.spec_digest, b.spec_digest);
  EXPECT_EQ(a.scope, b.scope);
  EXPECT_EQ(a.holder, b.holder);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.dispatched, b.dispatched);
  EXPECT_EQ(a.cancel_requested, b.cancel_requested);
  EXPECT_EQ(a.ref, b.ref);
  EXPECT_EQ(a.result, b.result);
  EXPECT_EQ(a.result_expired, b.result_expired);
  EXPECT_EQ(a.created_at, b.created_at);
  EXPECT_EQ(a.updated_at, b.updated_at);
  EXPECT_EQ(a.cleanup_attempts, b.cleanup_attempts);
  EXPECT_EQ(a.last_error, b.last_error);
  EXPECT_EQ(a.last_stage, b.last_stage);
  EXPECT_EQ(a.revision, b.revision);
}

TEST_F(Rows, AnIntentComesBackWithEveryField) {
  const Intent written = full_intent();
  insert(written);
  expect_equal(intent(written.name).value(), written);
  const auto of_call = value_of<std::optional<Intent>>(
      *store, [written](Transaction& rows) { return rows.intent_of_call(written.key); });
  expect_equal(of_call.value(), written);
}

TEST_F(Rows, AnUnknownIntentIsAbsentAndNoError) {
  EXPECT_FALSE(intent("berth-unknown"));
  EXPECT_FALSE(value_of<std::optional<Intent>>(*store, [](Transaction& rows) {
    return rows.intent_of_call({"a", "b", "c"});
  }));
}

TEST_F(Rows, UpdateWritesEveryFieldAndTheNewRevision) {
  insert(make_intent(1));
  Intent changed = make_intent(1);
  changed.turn = "turn-2";
  changed.provider_id = "other";
  changed.provider_version = "9";
  changed.provider_digest = "d2";
  changed.spec_digest = "s2";
  changed.scope = {{"account", "acct-2"}};
  changed.holder = {"boot-2", "host-2", "/elsewhere"};
  changed.state = IntentState::kReleased;
  changed.cancel_requested = true;
  changed.ref = "r";
  changed.result = "{}";
  changed.updated_at += std::chrono::seconds(1);
  changed.cleanup_attempts = 2;
  changed.last_error = "e";
  changed.last_stage = "st";
  changed.revision = 2;
  ASSERT_TRUE(
      commit(*store, [changed](Transaction& rows) { return rows.update_intent(changed, 1); }));
  expect_equal(intent(changed.name).value(), changed);
}

TEST_F(Rows, AStaleWriterIsRefused) {
  insert(make_intent(1));
  Intent changed = make_intent(1);
  changed.revision = 5;
  EXPECT_EQ(refusal([changed](Transaction& rows) { return rows.update_intent(changed, 4); }),
            ErrorKind::kConflict);
  EXPECT_EQ(intent(changed.name)->revision, 1u);
}

TEST_F(Rows, AnUpdateOfAnotherCallUnderTheSameNameIsRefused) {
  insert(make_intent(1));
  Intent other = make_intent(1);
  other.key.owner = "owner-2";
  EXPECT_EQ(refusal([other](Transaction& rows) { return rows.update_intent(other, 1); }),
            ErrorKind::kConflict);
}

TEST_F(Rows, OneNameAndOneCallHaveOneIntent) {
  insert(make_intent(1));
  Intent same_name = make_intent(2);
  same_name.name = make_intent(1).name;
  EXPECT_EQ(refusal([same_name](Transaction& rows) { return rows.insert_intent(same_name); }),
            ErrorKind::kConflict);
  Intent same_call = make_intent(1);
  same_call.name = "berth-another-name";
  EXPECT_EQ(refusal([same_call](Transaction& rows) { return rows.insert_intent(same_call); }),
            ErrorKind::kConflict);
}

TEST_F(Rows, AnIntentWithoutDispatchCannotBeInAStateThatNeedsOne) {
  Intent wrong = make_intent(1);
  wrong.dispatched = false;
  wrong.state = IntentState::kUncertain;
  EXPECT_EQ(refusal([wrong](Transaction& rows) { return rows.insert_intent(wrong); }),
            ErrorKind::kInvalidArgument);
}

TEST_F(Rows, AResultBeyondItsBoundIsRefusedWhole) {
  Intent large = make_intent(1);
  large.result = std::string((16 << 20) + 1, 'x');
  EXPECT_EQ(refusal([large](Transaction& rows) { return rows.insert_intent(large); }),
            ErrorKind::kLimit);
  EXPECT_FALSE(intent(large.name));
  large.result->pop_back();
  insert(large);
  EXPECT_EQ(intent(large.name)->result->size(), std::size_t{16} << 20);
}

TEST_F(Rows, AScopeThatIsNotTextIsRefusedBeforeItCannotBeReadBack) {
  Intent wrong = make_intent(1);
  wrong.scope = {{"account", "\xff"}};
  EXPECT_EQ(refusal([wrong](Transaction& rows) { return rows.insert_intent(wrong); }),
            ErrorKind::kInvalidArgument);
}

std::vector<std::string> names(const std::vector<Intent>& intents) {
  std::vector<std::string> found;
  for (const Intent& intent : intents) found.push_back(intent.key.owner + "/" + intent.key.call);
  return found;
}

TEST_F(Rows, ListsAreFilteredOldestFirstAndPaged) {
  for (const long number : {3, 1, 2}) insert(make_intent(number));
  Intent released = make_intent(4);
  released.state = IntentState::kReleased;
  insert(released);
  insert(make_intent(5, "owner-2"));
  const auto list = [&](IntentFilter filter) {
    return names(value_of<std::vector<Intent>>(
        *store, [filter](Transaction& rows) { return rows.intents(filter); }));
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(list({}),
              ElementsAre("owner-1/call-00000003", "owner-1/call-00000001", "owner-1/call-00000002",
                          "owner-1/call-00000004", "owner-2/call-00000005"));
  EXPECT_THAT(list({.owner = "owner-2"}), ElementsAre("owner-2/call-00000005"));
  EXPECT_THAT(list({.session = "session-2"}), ElementsAre());
  EXPECT_THAT(list({.provider_id = "reference", .unresolved_only = true}),
              ElementsAre("owner-1/call-00000003", "owner-1/call-00000001", "owner-1/call-00000002",
                          "owner-2/call-00000005"));
  EXPECT_THAT(list({.name = make_intent(4).name}), ElementsAre("owner-1/call-00000004"));
  EXPECT_THAT(list({.name = make_intent(4).name, .unresolved_only = true}), ElementsAre());
  EXPECT_THAT(list({.count_max = 2}),
              ElementsAre("owner-1/call-00000003", "owner-1/call-00000001"));
  EXPECT_THAT(list({.count_max = 2, .after_name = make_intent(1).name}),
              ElementsAre("owner-1/call-00000002", "owner-1/call-00000004"));
}

TEST_F(Rows, AListWithoutResultsLeavesThemOut) {
  insert(full_intent());
  const IntentFilter filter{.with_results = false};
  const auto found = value_of<std::vector<Intent>>(
      *store, [filter](Transaction& rows) { return rows.intents(filter); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].result);
}

TEST_F(Rows, AListWhoseResultsAreTooLargeIsRefused) {
  for (long number = 0; number < 17; ++number) {
    Intent large = make_intent(number);
    large.result = std::string(std::size_t{16} << 20, 'x');
    insert(large);
  }
  const Status done = read(*store, [](Transaction& rows) -> Status {
    BERTH_TRY([[maybe_unused]] const auto all, rows.intents({}));
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kLimit);
}

TEST_F(Rows, GoingOnFromAnUnknownRowIsAnError) {
  const Status done = read(*store, [](Transaction& rows) -> Status {
    const IntentFilter filter{.after_name = "berth-unknown"};
    BERTH_TRY([[maybe_unused]] const auto all, rows.intents(filter));
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kNotFound);
}

TEST_F(Rows, AnOpenIntentInAnotherScopeIsFound) {
  const Scope here = make_intent(1).scope;
  const Scope below = {{"account", "acct-0"}, {"endpoint", "https://example.test"}};
  const Scope above = {{"account", "acct-2"}, {"endpoint", "https://example.test"}};
  const auto other = [&](Scope scope) {
    auto found = std::make_shared<std::optional<Intent>>();
    EXPECT_TRUE(commit(*store, [found, scope](Transaction& rows) -> Status {
      BERTH_TRY(*found, rows.unresolved_in_other_scope("reference", scope));
      return {};
    }));
    return *found;
  };
  EXPECT_FALSE(other(here));
  insert(make_intent(1));
  EXPECT_FALSE(other(here));
  EXPECT_TRUE(other(below));
  EXPECT_TRUE(other(above));
  // The answer for `here` is remembered; a later intent elsewhere must undo it.
  EXPECT_FALSE(other(here));
  Intent elsewhere = make_intent(2);
  elsewhere.scope = above;
  insert(elsewhere);
  EXPECT_EQ(other(here)->name, elsewhere.name);
  elsewhere.state = IntentState::kReleased;
  elsewhere.revision = 2;
  ASSERT_TRUE(
      commit(*store, [elsewhere](Transaction& rows) { return rows.update_intent(elsewhere, 1); }));
  EXPECT_FALSE(other(here));
}

TEST_F(Rows, TheJournalKeepsTheOrderOfEachIntent) {
  insert(make_intent(1));
  insert(make_intent(2));
  const auto line = [](long number, IntentState from, IntentState to, std::string event) {
    return JournalEntry{make_intent(number).name,      from, to, std::move(event), "seen by a test",
                        make_intent(number).created_at};
  };
  for (int i = 0; i < 40; ++i) {
    for (const long number : {1, 2}) {
      const JournalEntry entry = line(number, IntentState::kDispatched, IntentState::kCreated,
                                      std::to_string(number) + "-" + std::to_string(i));
      ASSERT_TRUE(
          commit(*store, [entry](Transaction& rows) { return rows.append_journal(entry); }));
    }
    // A reopened store counts on from what is there.
    if (i == 20) {
      store.reset();
      store = test::open_store({.path = folder / "berth.db"});
    }
  }
  const std::string name = make_intent(2).name;
  const auto lines = value_of<std::vector<JournalEntry>>(
      *store, [name](Transaction& rows) { return rows.journal(name); });
  ASSERT_EQ(lines.size(), 40u);
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(lines[i].event, "2-" + std::to_string(i));
  EXPECT_EQ(lines[0].name, name);
  EXPECT_EQ(lines[0].from, IntentState::kDispatched);
  EXPECT_EQ(lines[0].to, IntentState::kCreated);
  EXPECT_EQ(lines[0].evidence, "seen by a test");
  EXPECT_EQ(lines[0].at, make_intent(2).created_at);
}

TEST_F(Rows, AJournalLineNeedsItsIntent) {
  EXPECT_EQ(refusal([](Transaction& rows) {
              return rows.append_journal({"berth-unknown", IntentState::kIntended,
                                          IntentState::kReleased, "refuse", "", WallTime()});
            }),
            ErrorKind::kNotFound);
}

TEST_F(Rows, SessionsAreKeptPerOwner) {
  const auto state = [&](std::string owner) {
    return value_of<std::optional<SessionRecord>>(
        *store, [owner](Transaction& rows) { return rows.session(owner, "s"); });
  };
  EXPECT_FALSE(state("a"));
  for (const SessionState next :
       {SessionState::kOpen, SessionState::kRetiring, SessionState::kRetired}) {
    const SessionRecord record{"a", "s", next, wall_time_from_unix_ms(17)};
    ASSERT_TRUE(commit(*store, [record](Transaction& rows) { return rows.put_session(record); }));
    EXPECT_EQ(state("a")->state, next);
    EXPECT_EQ(state("a")->updated_at, wall_time_from_unix_ms(17));
  }
  EXPECT_FALSE(state("b"));
}

TEST_F(Rows, AReceiptComesBackWithEveryField) {
  const Intent of = make_intent(1);
  insert(of);
  Receipt written = make_receipt(of);
  written.evidence = "the provider confirmed";
  written.exit_code = -3;
  written.stderr_bytes = 9;
  written.provider_cpu_ns = 5;
  written.provider_wall_ns = 6;
  written.provider_memory_peak_bytes = 7;
  written.provider_cost = Money::micros(8);
  ASSERT_TRUE(
      commit(*store, [written](Transaction& rows) { return rows.insert_receipt(written); }));
  const Receipt back = value_of<std::optional<Receipt>>(*store, [of](Transaction& rows) {
                         return rows.receipt(of.name);
                       }).value();
  EXPECT_EQ(back.name, written.name);
  EXPECT_EQ(back.owner, written.owner);
  EXPECT_EQ(back.session, written.session);
  EXPECT_EQ(back.call, written.call);
  EXPECT_EQ(back.turn, written.turn);
  EXPECT_EQ(back.provider_id, written.provider_id);
  EXPECT_EQ(back.provider_version, written.provider_version);
  EXPECT_EQ(back.provider_digest, written.provider_digest);
  EXPECT_EQ(back.scope, written.scope);
  EXPECT_EQ(back.settlement, written.settlement);
  EXPECT_EQ(back.cost, written.cost);
  EXPECT_EQ(back.recorded_at, written.recorded_at);
  EXPECT_EQ(back.settled_at, written.settled_at);
  EXPECT_EQ(back.evidence, written.evidence);
  EXPECT_EQ(back.exit_code, written.exit_code);
  EXPECT_EQ(back.cause, written.cause);
  EXPECT_EQ(back.stdout_bytes, written.stdout_bytes);
  EXPECT_EQ(back.stderr_bytes, written.stderr_bytes);
  EXPECT_EQ(back.timings_us, written.timings_us);
  EXPECT_EQ(back.provider_cpu_ns, written.provider_cpu_ns);
  EXPECT_EQ(back.provider_wall_ns, written.provider_wall_ns);
  EXPECT_EQ(back.provider_memory_peak_bytes, written.provider_memory_peak_bytes);
  EXPECT_EQ(back.provider_cost, written.provider_cost);
}

TEST_F(Rows, OneIntentHasOneReceipt) {
  const Intent of = make_intent(1);
  insert(of);
  const Receipt receipt = make_receipt(of);
  ASSERT_TRUE(
      commit(*store, [receipt](Transaction& rows) { return rows.insert_receipt(receipt); }));
  EXPECT_EQ(refusal([receipt](Transaction& rows) { return rows.insert_receipt(receipt); }),
            ErrorKind::kConflict);
  Receipt foreign = receipt;
  foreign.owner = "owner-2";
  EXPECT_EQ(refusal([foreign](Transaction& rows) { return rows.insert_receipt(foreign); }),
            ErrorKind::kConflict);
  EXPECT_EQ(
      refusal([](Transaction& rows) { return rows.insert_receipt(make_receipt(make_intent(9))); }),
      ErrorKind::kNotFound);
}

TEST_F(Rows, AnUnknownCostBecomesKnownOnce) {
  const Intent of = make_intent(1);
  insert(of);
  Receipt receipt = make_receipt(of);
  receipt.settlement = Settlement::kUncertain;
  receipt.cost.reset();
  ASSERT_TRUE(
      commit(*store, [receipt](Transaction& rows) { return rows.insert_receipt(receipt); }));
  const auto unknown = [&] {
    return value_of<std::uint64_t>(
        *store, [](Transaction& rows) { return rows.ledger().unknown_costs("owner-1"); });
  };
  EXPECT_EQ(unknown(), 1u);
  EXPECT_EQ(refusal([receipt](Transaction& rows) { return rows.settle_receipt(receipt); }),
            ErrorKind::kConflict);
  Receipt settled = receipt;
  settled.settlement = Settlement::kInfrastructureFailure;
  settled.cost = Money();
  settled.settled_at += std::chrono::hours(1);
  Receipt foreign = settled;
  foreign.owner = "owner-2";
  EXPECT_EQ(refusal([foreign](Transaction& rows) { return rows.settle_receipt(foreign); }),
            ErrorKind::kConflict);
  ASSERT_TRUE(
      commit(*store, [settled](Transaction& rows) { return rows.settle_receipt(settled); }));
  EXPECT_EQ(unknown(), 0u);
  settled.cost = Money::cents(5);
  EXPECT_EQ(refusal([settled](Transaction& rows) { return rows.settle_receipt(settled); }),
            ErrorKind::kConflict);
  const Receipt back = value_of<std::optional<Receipt>>(*store, [of](Transaction& rows) {
                         return rows.receipt(of.name);
                       }).value();
  EXPECT_EQ(back.cost, Money());
  EXPECT_EQ(back.recorded_at, receipt.recorded_at);
}

TEST_F(Rows, ReceiptsAreFilteredAndPaged) {
  for (long number = 0; number < 6; ++number) {
    const Intent of = make_intent(number, number < 4 ? "owner-1" : "owner-2");
    insert(of);
    Receipt receipt = make_receipt(of);
    receipt.recorded_at = wall_time_from_unix_ms(number * 10);
    if (number == 3) receipt.cost.reset();
    ASSERT_TRUE(
        commit(*store, [receipt](Transaction& rows) { return rows.insert_receipt(receipt); }));
  }
  const auto calls = [&](ReceiptFilter filter) {
    std::string text;
    for (const Receipt& receipt : value_of<std::vector<Receipt>>(
             *store, [filter](Transaction& rows) { return rows.receipts(filter); }))
      text += receipt.call.back();
    return text;
  };
  EXPECT_EQ(calls({}), "012345");
  EXPECT_EQ(calls({.owner = "owner-2"}), "45");
  EXPECT_EQ(calls({.owner = "owner-1", .session = "session-1", .provider_id = "reference"}),
            "0123");
  EXPECT_EQ(calls({.session = "session-2"}), "");
  EXPECT_EQ(calls({.name = make_intent(2).name}), "2");
  EXPECT_EQ(calls({.from = wall_time_from_unix_ms(10), .until = wall_time_from_unix_ms(30)}), "12");
  EXPECT_EQ(calls({.unknown_cost_only = true}), "3");
  EXPECT_EQ(calls({.count_max = 2, .after_name = make_intent(1).name}), "23");
}

TEST_F(Rows, PostingsMoveMoneyAndSumToZero) {
  const auto post = [&](std::string key, std::string from, std::string to, std::int64_t micros) {
    const Posting posting{std::move(key),        std::move(from), std::move(to),
                          Money::micros(micros), "memo",          wall_time_from_unix_ms(1)};
    return commit(*store,
                  [posting](Transaction& rows) { return rows.ledger().insert_posting(posting); });
  };
  ASSERT_TRUE(post("k1", "grants", "owner:a", 500'000));
  ASSERT_TRUE(post("k2", "owner:a", "usage", 50'000));
  const Status again = post("k2", "owner:a", "usage", 1);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kConflict);
  EXPECT_FALSE(post("k3", "usage", "usage", 1));
  EXPECT_FALSE(post("k4", "grants", "owner:a", std::numeric_limits<std::int64_t>::max()))
      << "a balance beyond 64 bits";
  const auto balance = [&](std::string account) {
    return value_of<Money>(*store,
                           [account](Transaction& rows) { return rows.ledger().balance(account); })
        .micros();
  };
  EXPECT_EQ(balance("owner:a"), 450'000);
  EXPECT_EQ(balance("usage"), 50'000);
  EXPECT_EQ(balance("grants"), -500'000);
  EXPECT_EQ(balance("nobody"), 0);
  const auto postings = value_of<std::vector<Posting>>(
      *store, [](Transaction& rows) { return rows.ledger().postings("owner:a", "", 10); });
  ASSERT_EQ(postings.size(), 2u);
  EXPECT_EQ(postings[0].key, "k1");
  EXPECT_EQ(postings[1].amount, Money::micros(50'000));
  EXPECT_EQ(postings[1].memo, "memo");
  EXPECT_EQ(postings[1].at, wall_time_from_unix_ms(1));
  const auto one = value_of<std::optional<Posting>>(
      *store, [](Transaction& rows) { return rows.ledger().posting("k1"); });
  EXPECT_EQ(one->from, "grants");
  EXPECT_FALSE(value_of<std::optional<Posting>>(
      *store, [](Transaction& rows) { return rows.ledger().posting("k3"); }));
}

TEST_F(Rows, ATurnStartsAtNothingAndIsReplaced) {
  const auto totals = [&] {
    return value_of<TurnTotals>(
        *store, [](Transaction& rows) { return rows.ledger().turn("o", "s", "t"); });
  };
  EXPECT_EQ(totals().used, Money());
  for (const int used : {5, 7}) {
    ASSERT_TRUE(commit(*store, [used](Transaction& rows) {
      return rows.ledger().put_turn("o", "s", "t", {Money::micros(used), Money::cents(1)});
    }));
    EXPECT_EQ(totals().used, Money::micros(used));
    EXPECT_EQ(totals().debited, Money::cents(1));
  }
}

}  // namespace
}  // namespace berth
