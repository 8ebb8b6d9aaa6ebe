#include "core/accounting/receipt.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

namespace berth {
namespace {

TEST(Receipt, UnknownIsNullInJsonAndNotZero) {
  Receipt receipt;
  receipt.name = "berth-1";
  receipt.settlement = Settlement::kUncertain;
  const std::string text = boost::json::serialize(to_json(receipt));
  EXPECT_NE(text.find("\"cost_micro_usd\":null"), std::string::npos);
  EXPECT_NE(text.find("\"exit_code\":null"), std::string::npos);
  receipt.cost = Money{};
  EXPECT_NE(boost::json::serialize(to_json(receipt)).find("\"cost_micro_usd\":0"),
            std::string::npos);
}

TEST(Receipt, TheProvidersInvoiceIsAnotherNumberThanTheCost) {
  Receipt receipt;
  receipt.cost = Money::cents(5);
  receipt.provider_cost = Money::micros(123);
  const auto json = to_json(receipt);
  EXPECT_EQ(json.at("cost_micro_usd"), 50'000);
  EXPECT_EQ(json.at("provider_cost_micro_usd"), 123);
}

TEST(Settlement, EveryWordIsReadBack) {
  for (const Settlement settlement :
       {Settlement::kCompleted, Settlement::kInfrastructureFailure, Settlement::kCancelled,
        Settlement::kRefused, Settlement::kHostDied, Settlement::kUncertain})
    EXPECT_EQ(settlement_from(to_string(settlement)), settlement);
  EXPECT_FALSE(settlement_from("free"));
}

}  // namespace
}  // namespace berth
