// What usage costs and what is debited for it, through whole calls over every store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/commits.h"
#include "core/lifecycle/reconcile.h"
#include "tests/support/harness.h"
#include "tests/support/store_kinds.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOwner = "alice";

class Usage : public ::testing::TestWithParam<StoreKind> {
 protected:
  Usage() : opened(GetParam().open()), story(opened.get()) {
    story.host().services.billing = &story.host().credits;
  }

  CallEnd call(const std::string& id, const std::string& turn = "", Body body = Harness::body()) {
    SandboxRequest request = Harness::request(id);
    request.turn = turn;
    request.cancellation = &cancellation;
    return story.run(with_sandbox(story.host().services, std::move(request), std::move(body)));
  }
  Money money(std::function<Result<Money>(LedgerRows&)> get) {
    auto found = std::make_shared<Money>();
    const Status done =
        story.run(story.host().services.store.commit([found, get](Transaction& rows) -> Status {
          BERTH_TRY(*found, get(rows.ledger()));
          return {};
        }));
    EXPECT_TRUE(done) << (done ? "" : done.error().message());
    return *found;
  }
  Money balance(const std::string& owner = kOwner) {
    return money(
        [this, owner](LedgerRows& rows) { return story.host().credits.balance(rows, owner, {}); });
  }
  Status grant(const std::string& key, Money amount) {
    return story.run(story.host().services.store.commit([this, key, amount](Transaction& rows) {
      return story.host().credits.grant(rows.ledger(), kOwner, key, amount, "", {});
    }));
  }
  // Every entry of the ledger together.
  Money everything() {
    return money([](LedgerRows& rows) -> Result<Money> {
      Money sum;
      for (const char* account : {"owner:alice", "owner:bob", "grants", "usage"}) {
        BERTH_TRY(const Money one, rows.balance(account));
        sum += one;
      }
      return sum;
    });
  }
  std::size_t debits() {
    auto found = std::make_shared<std::size_t>(0);
    EXPECT_TRUE(story.run(story.host().services.store.read([found](Transaction& rows) -> Status {
      BERTH_TRY(const std::vector<Posting> postings, rows.ledger().postings("usage", "", 1000));
      *found = postings.size();
      return {};
    })));
    return *found;
  }
  // Sets the balance to zero by an amount that the ledger knows.
  void spend_everything() {
    const Money price = story.host().services.price;
    story.host().services.price = balance();
    ASSERT_EQ(call("spend").status, CallEnd::Status::kCompleted);
    story.host().services.price = price;
    ASSERT_EQ(balance(), Money{});
  }
  void lose_creates() {
    story.host().provider.fault = [](Slot slot, const std::string&) {
      return slot == Slot::kCreate ? OpFault::kLostNotDone : OpFault::kNone;
    };
  }

  Cancellation cancellation;
  std::unique_ptr<Store> opened;
  Harness story;
};

TEST_P(Usage, ExplicitlyFreeWorkIsNotUnreportedUsage) {
  story.host().services.price = Money{};
  const CallEnd free_call = call("free");
  ASSERT_TRUE(free_call.receipt);
  EXPECT_EQ(free_call.receipt->cost, Money{}) << "known, and nothing";
  EXPECT_EQ(balance(), Money::cents(50));
  EXPECT_EQ(call("next").status, CallEnd::Status::kCompleted) << "it blocks nothing";
  lose_creates();
  const CallEnd lost = call("lost");
  EXPECT_EQ(lost.status, CallEnd::Status::kUncertain);
  ASSERT_TRUE(lost.receipt);
  EXPECT_FALSE(lost.receipt->cost) << "unknown is not zero";
}

TEST_P(Usage, AnErrorOfTheStoreReachesTheCallerUnchangedAndDebitsNothing) {
  ASSERT_TRUE(grant("a", Money::cents(1)));
  const Status other = grant("a", Money::cents(2));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(balance(), Money::cents(51));
}

TEST_P(Usage, CancellationBeforeAndDuringExecutionCostsNothing) {
  cancellation.request(Cancellation::Reason::kCaller);
  EXPECT_EQ(call("before").status, CallEnd::Status::kCancelled);
  EXPECT_TRUE(story.cloud.creates_asked.empty());
  Cancellation later;
  SandboxRequest request = Harness::request("during");
  request.cancellation = &later;
  // Answers with a result although it was cancelled.
  Body body = [&later](Sandbox&) -> Task<BodyResult> {
    later.request(Cancellation::Reason::kCaller);
    BodyResult result;
    result.kind = BodyResult::Kind::kCompleted;
    result.document = "{}";
    co_return result;
  };
  const CallEnd end =
      story.run(with_sandbox(story.host().services, std::move(request), std::move(body)));
  EXPECT_EQ(end.status, CallEnd::Status::kCancelled);
  ASSERT_TRUE(end.receipt);
  EXPECT_EQ(end.receipt->cost, Money{});
  EXPECT_EQ(balance(), Money::cents(50));
  EXPECT_EQ(debits(), 0u);
}

TEST_P(Usage, ANegativeCostIsRefusedWithAllThatWouldHaveComeOfIt) {
  story.host().services.price = Money::micros(-1);
  const CallEnd end = call("negative");
  EXPECT_NE(end.status, CallEnd::Status::kCompleted);
  EXPECT_EQ(balance(), Money::cents(50));
  EXPECT_EQ(debits(), 0u);
}

TEST_P(Usage, AnUnresolvedCostKeepsTheKnownOnesFromBeingTheFinalCharge) {
  story.host().services.price = Money::micros(1000);
  ASSERT_EQ(call("a", "turn").status, CallEnd::Status::kCompleted);
  EXPECT_EQ(balance(), Money::cents(49));
  lose_creates();
  ASSERT_EQ(call("b", "turn").status, CallEnd::Status::kUncertain);
  const CallEnd blocked = call("c", "turn");
  EXPECT_EQ(blocked.status, CallEnd::Status::kRefused);
  EXPECT_THAT(blocked.message, HasSubstr("unknown cost"));
  EXPECT_EQ(balance(), Money::cents(49)) << "nothing is guessed for what is unknown";
}

TEST_P(Usage, InvalidOutputIsAnInfrastructureFailureAndFree) {
  Body body = [](Sandbox&) -> Task<BodyResult> {
    BodyResult result;
    result.message = "the output was invalid";
    co_return result;
  };
  const CallEnd end = call("invalid", "", std::move(body));
  EXPECT_EQ(end.status, CallEnd::Status::kInfrastructureError);
  ASSERT_TRUE(end.receipt);
  EXPECT_EQ(end.receipt->cost, Money{});
  EXPECT_EQ(balance(), Money::cents(50));
}

TEST_P(Usage, CostsOfATurnAreAddedBeforeTheyAreRounded) {
  story.host().services.price = Money::micros(1000);
  ASSERT_EQ(call("a", "turn").status, CallEnd::Status::kCompleted);
  ASSERT_EQ(call("b", "turn").status, CallEnd::Status::kCompleted);
  EXPECT_EQ(balance(), Money::cents(49)) << "0.001 + 0.001 is one cent";
  story.host().services.price = Money::micros(15'000);
  ASSERT_EQ(call("c", "next turn").status, CallEnd::Status::kCompleted);
  EXPECT_EQ(balance(), Money::cents(47));
  EXPECT_EQ(everything(), Money{});
}

TEST_P(Usage, EightDeliveriesAtOnceAreOneAllocationOneReceiptAndOneDebit) {
  story.start_host();
  for (std::size_t host = 0; host < 2; ++host) {
    story.host(host).services.billing = &story.host(host).credits;
  }
  std::vector<std::shared_ptr<std::optional<CallEnd>>> ends;
  for (std::size_t i = 0; i < 8; ++i) {
    TestHost& host = story.host(i % 2);
    ends.push_back(
        host.start(with_sandbox(host.services, Harness::request("call"), Harness::body())));
  }
  ASSERT_TRUE(story.step_until([&] {
    return std::all_of(ends.begin(), ends.end(), [](const auto& end) { return end->has_value(); });
  }));
  const auto completed = std::count_if(ends.begin(), ends.end(), [](const auto& end) {
    return (*end)->status == CallEnd::Status::kCompleted && !(*end)->replayed;
  });
  EXPECT_EQ(completed, 1);
  EXPECT_EQ(story.cloud.creates_asked.size(), 1u);
  EXPECT_EQ(story.cloud.creates_asked.begin()->second, 1);
  EXPECT_EQ(balance(), Money::cents(45));
  EXPECT_EQ(debits(), 1u);
  EXPECT_EQ(everything(), Money{});
}

TEST_P(Usage, AReplayAfterTheSettlementIsFree) {
  ASSERT_EQ(call("call").status, CallEnd::Status::kCompleted);
  for (int i = 0; i < 3; ++i) {
    const CallEnd again = call("call");
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.receipt->cost, Money::cents(5));
  }
  EXPECT_EQ(balance(), Money::cents(45));
  EXPECT_EQ(debits(), 1u);
}

TEST_P(Usage, AnOwnerWithoutAPositiveBalanceIsRefusedBeforeAnythingIsAllocated) {
  spend_everything();
  const std::size_t asked = story.cloud.creates_asked.size();
  const CallEnd refused = call("more");
  EXPECT_EQ(refused.status, CallEnd::Status::kRefused);
  EXPECT_THAT(refused.message, HasSubstr("no credit left"));
  EXPECT_FALSE(refused.receipt);
  EXPECT_EQ(story.cloud.creates_asked.size(), asked);
  auto intents = std::make_shared<std::size_t>(0);
  ASSERT_TRUE(story.run(story.host().services.store.read([intents](Transaction& rows) -> Status {
    BERTH_TRY(const std::vector<Intent> all, rows.intents({}));
    *intents = all.size();
    return {};
  })));
  EXPECT_EQ(*intents, 1u) << "the one that spent it";
  EXPECT_TRUE(call("spend").replayed) << "what is recorded stays free to read";
  ASSERT_TRUE(grant("more", Money::cents(1)));
  EXPECT_EQ(call("more").status, CallEnd::Status::kCompleted);
  EXPECT_EQ(balance(), Money::cents(-4))
      << "nothing is reserved, so what is in flight may overdraw";
}

TEST_P(Usage, AnUnknownCostBlocksPaidWorkUntilItIsReconciled) {
  lose_creates();
  const CallEnd lost = call("lost");
  ASSERT_EQ(lost.status, CallEnd::Status::kUncertain);
  story.host().provider.fault = nullptr;
  EXPECT_EQ(call("next").status, CallEnd::Status::kRefused);
  EXPECT_EQ(debits(), 0u);
  ReconcileOptions options;
  options.name = lost.intent_name;
  const auto settled = story.run(reconcile(story.host().services, options));
  ASSERT_TRUE(settled) << settled.error().message();
  const auto receipt = story.receipt(lost.intent_name);
  ASSERT_TRUE(receipt && receipt->cost) << "it is known now";
  EXPECT_EQ(*receipt->cost, Money{});
  EXPECT_EQ(call("next").status, CallEnd::Status::kCompleted);
  EXPECT_EQ(balance(), Money::cents(45));
  EXPECT_EQ(everything(), Money{});
}

INSTANTIATE_TEST_SUITE_P(EveryStore, Usage, ::testing::ValuesIn(store_kinds()),
                         [](const ::testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

}  // namespace
}  // namespace berth::testing
