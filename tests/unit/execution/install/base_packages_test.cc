#include "core/execution/install/base_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::install {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BasePackages, AreSeenWhereTheyAreImported) {
  EXPECT_THAT(imported_base_packages("import yfinance as yf"), ElementsAre("yfinance"));
  EXPECT_THAT(imported_base_packages("try:\n\tfrom matplotlib.pyplot import plot\nexcept: pass"),
              ElementsAre("matplotlib"));
  EXPECT_THAT(imported_base_packages("import os, numpy,pandas"), ElementsAre("pandas", "numpy"));
  EXPECT_THAT(imported_base_packages("if x: import sympy; y = 1"), ElementsAre("sympy"));
}

TEST(BasePackages, OtherNamesAreNotTakenForThem) {
  EXPECT_THAT(imported_base_packages("import numpy_financial\nimport mypandas\nx.numpy = 1\n# numpy"), IsEmpty());
  EXPECT_THAT(imported_base_packages("numpy"), IsEmpty());
  EXPECT_THAT(imported_base_packages(""), IsEmpty());
}

}  // namespace
}  // namespace berth::install
