#include "core/base/ids.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(Ids, RandomHexHasTwoLowercaseDigitsPerByte) {
  const std::string id = random_hex(300);  // more than one getrandom call is bound to give
  EXPECT_EQ(id.size(), 600u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(random_hex(0), "");
}

TEST(Ids, RandomHexDoesNotRepeat) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_hex(16));
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Ids, BlankIsWhiteSpaceOnly) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\r\n\v\f"));
  EXPECT_FALSE(is_blank(" a "));
  EXPECT_FALSE(is_blank("\xC2\xA0"));  // no-break space is a character like another
}

}  // namespace
}  // namespace berth
