#include <string>
#include <string_view>

#include "core/base/json.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string replaced(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text.append(kReplacement);
  return text;
}

TEST(Utf8, TheEdgesOfEveryLengthAreValid) {
  for (const std::string_view text :
       {std::string_view("\x00", 1), std::string_view("\x7F"), std::string_view("\xC2\x80"),
        std::string_view("\xDF\xBF"), std::string_view("\xE0\xA0\x80"),
        std::string_view("\xED\x9F\xBF"), std::string_view("\xEE\x80\x80"),
        std::string_view("\xEF\xBF\xBF"), std::string_view("\xF0\x90\x80\x80"),
        std::string_view("\xF4\x8F\xBF\xBF")}) {
    EXPECT_TRUE(is_valid_utf8(text));
    EXPECT_EQ(to_valid_utf8(text), text);
  }
}

TEST(Utf8, OverlongFormsSurrogatesAndWhatIsBeyondUnicodeAreInvalid) {
  for (const std::string_view text : {"\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                      "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80", "\x80", "\xBF", "\xFE", "\xFF"})
    EXPECT_FALSE(is_valid_utf8(text));
}

// The answers are those of the WHATWG decoder: one replacement for each maximal prefix of a
// well-formed sequence, one for each byte that begins none.
TEST(Utf8, EveryMaximalPrefixBecomesOneReplacement) {
  EXPECT_EQ(to_valid_utf8("\xC0\xAF"), replaced(2));
  EXPECT_EQ(to_valid_utf8("\xE0\x80\x80"), replaced(3));
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), replaced(3));
  EXPECT_EQ(to_valid_utf8("\xF4\x90\x80\x80"), replaced(4));
  EXPECT_EQ(to_valid_utf8("\xE2\x82"), replaced(1));
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98"), replaced(1));
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98" "a"), replaced(1) + "a");
  EXPECT_EQ(to_valid_utf8("\xE2\x82\xE2\x82\xAC"), replaced(1) + "\xE2\x82\xAC");
  EXPECT_EQ(to_valid_utf8("a\x80z"), "a" + replaced(1) + "z");
}

TEST(Utf8, OneFlawInLongAsciiIsFoundAtEveryOffset) {
  for (std::size_t at = 0; at < 40; ++at) {
    std::string text(40, 'a');
    EXPECT_TRUE(is_valid_utf8(text));
    text[at] = '\xFF';
    EXPECT_FALSE(is_valid_utf8(text)) << at;
    EXPECT_EQ(to_valid_utf8(text),
              std::string(at, 'a') + "\xEF\xBF\xBD" + std::string(39 - at, 'a'));
    text.replace(at, 1, "\u00e9");
    EXPECT_TRUE(is_valid_utf8(text)) << at;
    EXPECT_EQ(to_valid_utf8(text), text);
  }
}

TEST(Utf8, ATableFromTheUnicodeStandardAgrees) {
  // Unicode 15, tables 3-8 to 3-11: ill-formed text and its best-practice replacement.
  EXPECT_EQ(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), replaced(8) + "A");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), replaced(8) + "A");
  EXPECT_EQ(to_valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            replaced(5) + "A" + replaced(2) + "B");
  EXPECT_EQ(to_valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), replaced(4) + "A");
}

}  // namespace
}  // namespace berth
