#include "core/accounting/summary.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>

namespace berth {
namespace {

Receipt receipt(std::int64_t day, const char* provider, Settlement settlement,
                std::optional<Money> cost) {
  Receipt made;
  made.provider_id = provider;
  made.settlement = settlement;
  made.cost = cost;
  made.recorded_at = wall_time_from_unix_ms(day * 86'400'000);
  made.stdout_bytes = 10;
  made.stderr_bytes = 1;
  made.timings_us = {{"create", 100}, {"run", 20}};
  return made;
}

TEST(ReceiptSummary, TotalsAreKeptPerDayAndProvider) {
  ReceiptSummary summary;
  summary.add(receipt(1, "local", Settlement::kCompleted, Money::micros(50'000)));
  summary.add(receipt(1, "local", Settlement::kCompleted, Money::micros(50'000)));
  summary.add(receipt(1, "local", Settlement::kCancelled, Money{}));
  summary.add(receipt(1, "remote", Settlement::kUncertain, std::nullopt));
  Receipt late = receipt(2, "local", Settlement::kCompleted, Money::micros(1));
  late.recorded_at -= std::chrono::milliseconds(1);  // still the day before, in UTC
  summary.add(late);
  ASSERT_EQ(summary.rows().size(), 2u);
  const ReceiptTotals& local = summary.rows().at({"1970-01-02", "local"});
  EXPECT_EQ(local.calls, 4u);
  EXPECT_EQ(local.count(Settlement::kCompleted), 3u);
  EXPECT_EQ(local.count(Settlement::kCancelled), 1u);
  EXPECT_EQ(local.count(Settlement::kUncertain), 0u);
  EXPECT_EQ(local.cost, Money::micros(100'001));
  EXPECT_EQ(local.unknown_costs, 0u);
  EXPECT_EQ(local.stdout_bytes, 40u);
  EXPECT_EQ(local.wall_us, 480);
  EXPECT_EQ(summary.rows().at({"1970-01-02", "remote"}).unknown_costs, 1u);
  EXPECT_EQ(summary.total().calls, 5u);
}

TEST(ReceiptSummary, AnUnknownCostIsCountedAndIsNotZeroDollars) {
  ReceiptSummary summary;
  summary.add(receipt(0, "p", Settlement::kCancelled, Money{}));
  summary.add(receipt(0, "p", Settlement::kUncertain, std::nullopt));
  EXPECT_EQ(summary.total().cost, Money{});
  EXPECT_EQ(summary.total().unknown_costs, 1u);
  const boost::json::object document = to_json(summary);
  EXPECT_EQ(document.at("total").at("unknown_costs"), 1);
  EXPECT_EQ(document.at("days").as_array().size(), 1u);
  EXPECT_EQ(document.at("days").as_array()[0].at("settlements").at("cancelled"), 1);
}

TEST(ReceiptSummary, SumsStopAtTheLargestNumber) {
  ReceiptSummary summary;
  for (int i = 0; i < 3; ++i) {
    Receipt large = receipt(0, "p", Settlement::kCompleted,
                            Money::micros(std::numeric_limits<std::int64_t>::max() - 1));
    large.stdout_bytes = std::numeric_limits<std::uint64_t>::max() - 1;
    large.timings_us = {{"run", std::numeric_limits<std::int64_t>::max()}, {"cleanup", 5}};
    summary.add(large);
  }
  EXPECT_EQ(summary.total().cost.micros(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(summary.total().stdout_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(summary.total().wall_us, std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace berth
