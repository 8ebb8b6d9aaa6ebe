#include "core/accounting/credits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "core/lifecycle/commits.h"
#include "tests/support/harness.h"
#include "tests/support/store_kinds.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;

class CreditsLedger : public ::testing::TestWithParam<StoreKind> {
 protected:
  CreditsLedger() : opened(GetParam().open()), story(opened.get()) {}

  // Records a receipt and debits it, as the release of a call does.
  Status record(const std::string& name, std::optional<Money> cost,
                const std::string& turn = "turn", const std::string& owner = "alice") {
    Receipt receipt;
    receipt.name = name;
    receipt.owner = owner;
    receipt.session = "session";
    receipt.call = name;
    receipt.turn = turn;
    receipt.settlement = cost ? Settlement::kCompleted : Settlement::kUncertain;
    receipt.cost = cost;
    return commit([this, receipt](Transaction& transaction) -> Status {
      // A receipt is evidence of an intent, which a store may insist on.
      BERTH_TRY(const std::optional<Intent> known, transaction.intent(receipt.name));
      if (!known) {
        Intent intent;
        intent.name = receipt.name;
        intent.key = {receipt.owner, receipt.session, receipt.call};
        intent.turn = receipt.turn;
        intent.state = IntentState::kReleased;
        intent.revision = 1;
        BERTH_CHECK_OK(transaction.insert_intent(intent));
      }
      BERTH_TRY([[maybe_unused]] const std::optional<Receipt> instead,
                record_receipt(transaction, &credits, receipt));
      return {};
    });
  }
  Status admit(const std::string& owner = "alice") {
    return commit([this, owner](Transaction& transaction) {
      return credits.admit(transaction.ledger(), owner, {});
    });
  }
  Money balance(const std::string& owner = "alice") {
    auto money = std::make_shared<Money>();
    EXPECT_TRUE(commit([this, owner, money](Transaction& transaction) -> Status {
      BERTH_TRY(*money, credits.balance(transaction.ledger(), owner, {}));
      return {};
    }));
    return *money;
  }
  Status commit(UnitOfWork work) {
    Status status = story.run(story.host().services.store.commit(std::move(work)));
    if (!status) last_error = status.error().message();
    return status;
  }

  Credits credits;
  std::string last_error;
  std::unique_ptr<Store> opened;
  Harness story;
};

TEST_P(CreditsLedger, ANewOwnerStartsWithTheGrantOnce) {
  EXPECT_EQ(balance(), Money::micros(500'000));
  EXPECT_EQ(balance(), Money::micros(500'000));
}

TEST_P(CreditsLedger, RoundsUpToTheCentOncePerTurnAndNotPerCall) {
  ASSERT_TRUE(record("a", Money::micros(1000)));
  EXPECT_EQ(balance(), Money::cents(49));
  ASSERT_TRUE(record("b", Money::micros(1000)));
  EXPECT_EQ(balance(), Money::cents(49)) << "still within the cent of the same turn";
  ASSERT_TRUE(record("c", Money::micros(15'000), "another turn"));
  EXPECT_EQ(balance(), Money::cents(47));
}

TEST_P(CreditsLedger, OneExecutionAloneInATurnDebitsFiveCents) {
  ASSERT_TRUE(record("a", Money::micros(50'000))) << last_error;
  EXPECT_EQ(balance(), Money::cents(45));
}

TEST_P(CreditsLedger, ReplaysAndConcurrentDeliveriesRecordOnce) {
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(record("a", Money::cents(5)));
  EXPECT_EQ(balance(), Money::cents(45));
}

TEST_P(CreditsLedger, AnotherOwnerForTheSameKeyIsAConflict) {
  ASSERT_TRUE(record("a", Money::cents(5)));
  const Status other = record("a", Money::cents(5), "turn", "bob");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(balance("bob"), Money::cents(50));
}

TEST_P(CreditsLedger, AnotherKnownAmountForTheSameKeyIsAConflict) {
  ASSERT_TRUE(record("a", Money::cents(5)));
  const Status other = record("a", Money::cents(6));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(balance(), Money::cents(45));
}

TEST_P(CreditsLedger, AnUnknownCostBlocksPaidWorkAndBecomesKnownOnce) {
  ASSERT_TRUE(record("a", std::nullopt));
  const Status blocked = admit();
  ASSERT_FALSE(blocked);
  EXPECT_THAT(blocked.error().message(), HasSubstr("unknown cost"));
  EXPECT_TRUE(admit("bob")) << "only its owner is blocked";
  ASSERT_TRUE(record("a", Money::cents(5)));
  EXPECT_TRUE(admit());
  ASSERT_TRUE(record("a", std::nullopt)) << "a replay without the cost is settled already";
  EXPECT_EQ(balance(), Money::cents(45));
}

TEST_P(CreditsLedger, PaidWorkNeedsAStrictlyPositiveBalance) {
  ASSERT_TRUE(record("a", Money::cents(50)));
  const Status refused = admit();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kRefused);
  ASSERT_TRUE(commit([this](Transaction& transaction) {
    return credits.grant(transaction.ledger(), "alice", "gift-1", Money::cents(1), "a gift", {});
  }));
  EXPECT_TRUE(admit());
}

TEST_P(CreditsLedger, AGrantIsGivenOnceAndAnotherAmountIsAConflict) {
  const auto grant = [this](Money amount) {
    return commit([this, amount](Transaction& transaction) {
      return credits.grant(transaction.ledger(), "alice", "gift-1", amount, "a gift", {});
    });
  };
  ASSERT_TRUE(grant(Money::cents(7)));
  ASSERT_TRUE(grant(Money::cents(7)));
  EXPECT_FALSE(grant(Money::cents(8)));
  EXPECT_FALSE(grant(Money{}));
  EXPECT_EQ(balance(), Money::cents(57));
}

TEST_P(CreditsLedger, AllEntriesSumToZero) {
  ASSERT_TRUE(record("a", Money::micros(12'345)));
  ASSERT_TRUE(record("b", Money::micros(50'000), "t", "bob"));
  EXPECT_TRUE(commit([](Transaction& transaction) -> Status {
    Money sum;
    for (const char* const account : {"owner:alice", "owner:bob", "grants", "usage"}) {
      BERTH_TRY(const Money one, transaction.ledger().balance(account));
      sum += one;
    }
    EXPECT_EQ(sum, Money{});
    return {};
  }));
}

INSTANTIATE_TEST_SUITE_P(EveryStore, CreditsLedger, ::testing::ValuesIn(store_kinds()),
                         [](const ::testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

}  // namespace
}  // namespace berth::testing
