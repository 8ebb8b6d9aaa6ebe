#include "core/base/time.h"

#include "gtest/gtest.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

TEST(Time, Rfc3339HasMillisecondsAndIsUtc) {
  EXPECT_EQ(to_rfc3339(wall_time_from_unix_ms(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(wall_time_from_unix_ms(951'782'400'007)), "2000-02-29T00:00:00.007Z");
  EXPECT_EQ(to_rfc3339(wall_time_from_unix_ms(1'764'456'749'123)), "2025-11-29T22:52:29.123Z");
}

TEST(Time, MomentsBefore1970KeepTheirOrder) {
  EXPECT_EQ(to_rfc3339(wall_time_from_unix_ms(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(Time, UnixMillisecondsSurviveARoundTrip) {
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'764'456'749'123}})
    EXPECT_EQ(unix_ms(wall_time_from_unix_ms(ms)), ms);
}

TEST(Time, DurationsForPeopleUseTheLargestFittingUnit) {
  EXPECT_EQ(to_human(999us), "999 us");
  EXPECT_EQ(to_human(1ms), "1 ms");
  EXPECT_EQ(to_human(340ms), "340 ms");
  EXPECT_EQ(to_human(12s), "12.0 s");
  EXPECT_EQ(to_human(12'340ms), "12.3 s");
  EXPECT_EQ(to_human(303s), "5 min 3 s");
  EXPECT_EQ(to_human(7'800s), "2 h 10 min");
}

}  // namespace
}  // namespace berth
