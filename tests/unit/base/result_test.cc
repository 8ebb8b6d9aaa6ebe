#include "core/base/result.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace berth {
namespace {

Result<std::unique_ptr<int>> make(bool good) {
  if (!good) return fail(ErrorKind::kNotFound, "no number here");
  return std::make_unique<int>(7);
}

Status check(bool good) {
  if (!good) return fail(ErrorKind::kRefused, "not now");
  return {};
}

Result<int> sum(bool first, bool second, bool third) {
  BERTH_TRY(const auto a, make(first));
  BERTH_CHECK_OK(check(second));
  BERTH_TRY(const auto b, make(third));
  return *a + *b;
}

TEST(Result, TryGivesTheValueAndMovesIt) { EXPECT_EQ(sum(true, true, true).value(), 14); }

TEST(Result, TheFirstErrorIsTheOneReturned) {
  EXPECT_EQ(sum(false, false, false).error().message(), "no number here");
  EXPECT_EQ(sum(true, false, false).error().kind(), ErrorKind::kRefused);
  EXPECT_EQ(sum(true, true, false).error().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace berth
