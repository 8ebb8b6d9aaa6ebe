#include "core/execution/output.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace berth {
namespace {

std::string cut_in_pieces(std::string_view bytes, std::size_t piece) {
  CharacterCutter cutter;
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view ready = cutter.take(bytes.substr(at, piece));
    out += to_valid_utf8(ready);
  }
  return out + to_valid_utf8(cutter.finish());
}

TEST(CharacterCutter, CharactersSplitOverReadsStayWhole) {
  const std::string text = "a\u00DF\u20AC\U0001D11E\u8A9Ez";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(cut_in_pieces(text, piece), text) << "in pieces of " << piece;
  }
}

TEST(CharacterCutter, InvalidBytesGiveTheSameTextHoweverTheyAreSplit) {
  const std::string bytes("x\xFF\xE2\x82y\xF0\x9F\x92\xC3(\xED\xA0\x80\xF4\x90\x80\x80\xC0\xAF\xE2", 23);
  const std::string whole = to_valid_utf8(bytes);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(cut_in_pieces(bytes, piece), whole) << "in pieces of " << piece;
  }
}

TEST(CharacterCutter, AnUnfinishedCharacterWaitsAndIsGivenAtTheEnd) {
  CharacterCutter cutter;
  EXPECT_EQ(cutter.take("ab\xE2\x82"), "ab");
  EXPECT_EQ(cutter.take(""), "");
  EXPECT_EQ(cutter.finish(), "\xE2\x82");
  EXPECT_EQ(cutter.finish(), "");
}

TEST(CharacterCutter, ContinuationBytesAloneDoNotWait) {
  CharacterCutter cutter;
  EXPECT_EQ(cutter.take("\x80\x80\x80\x80"), "\x80\x80\x80\x80");
}

TEST(KeptOutput, NothingIsMissingUpToTheBound) {
  KeptOutput kept(10);
  kept.append("01234");
  kept.append("56789");
  const OutputText text = kept.text();
  EXPECT_EQ(text.text, "0123456789");
  EXPECT_EQ(text.bytes, 10u);
  EXPECT_FALSE(text.truncated);
  EXPECT_EQ(text.omitted_bytes, 0u);
}

TEST(KeptOutput, HeadAndTailStayAndTheCountIsExact) {
  KeptOutput kept(10);
  for (int i = 0; i < 1000; ++i) kept.append("abc");
  const OutputText text = kept.text();
  EXPECT_EQ(text.text, "abcab\n[... 2990 bytes omitted ...]\nbcabc");
  EXPECT_EQ(text.bytes, 3000u);
  EXPECT_EQ(text.omitted_bytes, 2990u);
  EXPECT_TRUE(text.truncated);
}

TEST(KeptOutput, PiecesOfAnySizeGiveTheSame) {
  std::string all;
  for (int i = 0; i < 5000; ++i) all += std::to_string(i);
  KeptOutput whole(101);
  whole.append(all);
  for (const std::size_t piece : {1u, 7u, 50u, 51u, 999u}) {
    KeptOutput kept(101);
    for (std::size_t at = 0; at < all.size(); at += piece) kept.append(std::string_view(all).substr(at, piece));
    EXPECT_EQ(kept.text().text, whole.text().text) << "in pieces of " << piece;
    EXPECT_EQ(kept.text().omitted_bytes, whole.text().omitted_bytes);
  }
}

TEST(KeptOutput, ACharacterAtTheGapIsLeftOutWhole) {
  KeptOutput kept(14);
  for (int i = 0; i < 100; ++i) kept.append("\u8A9E");
  const OutputText text = kept.text();
  EXPECT_EQ(text.text.find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_EQ(text.bytes, 300u);
  EXPECT_EQ(text.omitted_bytes, 300u - 12u);
}

TEST(KeptOutput, KnowsWhetherALineIsUnfinished) {
  KeptOutput kept(4);
  EXPECT_TRUE(kept.ends_line());
  kept.append("long line");
  EXPECT_FALSE(kept.ends_line());
  kept.append("\n");
  EXPECT_TRUE(kept.ends_line());
}

TEST(Abridge, ShortTextIsItselfAndLongTextIsBounded) {
  EXPECT_EQ(abridge("short", 100), "short");
  const std::string shorter = abridge(std::string(10'000, 'x'), 100);
  EXPECT_LT(shorter.size(), 200u);
  EXPECT_NE(shorter.find("9900 bytes omitted"), std::string::npos);
}

}  // namespace
}  // namespace berth
