#include "core/base/money.h"

#include <limits>

#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(Money, TextHasTwoDecimalsAndNoZerosBeyond) {
  EXPECT_EQ(Money().to_string(), "$0.00");
  EXPECT_EQ(Money::micros(50'000).to_string(), "$0.05");
  EXPECT_EQ(Money::micros(500'000).to_string(), "$0.50");
  EXPECT_EQ(Money::micros(1'234'567).to_string(), "$1.234567");
  EXPECT_EQ(Money::micros(1).to_string(), "$0.000001");
  EXPECT_EQ(Money::micros(1'230'000).to_string(), "$1.23");
  EXPECT_EQ(Money::micros(100'000'000).to_string(), "$100.00");
}

TEST(Money, NegativeAmountsKeepTheirSignBeforeTheCurrency) {
  EXPECT_EQ(Money::micros(-1'234'567).to_string(), "-$1.234567");
  EXPECT_EQ(Money::micros(-50'000).to_string(), "-$0.05");
}

TEST(Money, TheSmallestAmountHasText) {
  EXPECT_EQ(Money::micros(std::numeric_limits<std::int64_t>::min()).to_string(),
            "-$9223372036854.775808");
}

TEST(Money, ArithmeticIsExact) {
  Money sum;
  for (int i = 0; i < 1'000'000; ++i) sum += Money::micros(1);
  EXPECT_EQ(sum, Money::cents(100));
  EXPECT_EQ(Money::cents(5) - Money::micros(1), Money::micros(49'999));
  EXPECT_EQ(-Money::cents(5) + Money::cents(5), Money());
  EXPECT_LT(Money::micros(-1), Money());
}

}  // namespace
}  // namespace berth
