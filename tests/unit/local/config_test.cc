#include "config.h"

#include <gtest/gtest.h>

namespace berth::local {
namespace {

using Strings = std::vector<std::string>;

TEST(LocalConfig, StringsOfJsonAreReadWithTheirEscapes) {
  EXPECT_EQ(json_string(R"("plain")"), "plain");
  EXPECT_EQ(json_string(R"("a\"b\\c\/d")"), "a\"b\\c/d");
  EXPECT_EQ(json_string(R"( "spaced" )"), "spaced");
  for (const char* wrong : {"", "plain", R"("open)", R"("a\n")", R"("a" "b")", R"("a\)", "1", "null"}) {
    EXPECT_EQ(json_string(wrong), std::nullopt) << wrong;
  }
}

TEST(LocalConfig, NumbersOfJsonAreWholeAndNotNegative) {
  EXPECT_EQ(json_number("0"), 0u);
  EXPECT_EQ(json_number(" 18446744073709551615 "), UINT64_MAX);
  for (const char* wrong : {"", "-1", "1.5", "1e3", "18446744073709551616", "1 2", "\"1\"", "true"}) {
    EXPECT_EQ(json_number(wrong), std::nullopt) << wrong;
  }
}

TEST(LocalConfig, ListsOfStringsAreReadWhole) {
  EXPECT_EQ(json_strings("[]"), Strings{});
  EXPECT_EQ(json_strings(R"(["a", "b"])"), (Strings{"a", "b"}));
  for (const char* wrong : {"", "[", "[\"a\"", "[\"a\",]", "[1]", "[\"a\"] x", "\"a\"", "[\"a\" \"b\"]"}) {
    EXPECT_EQ(json_strings(wrong), std::nullopt) << wrong;
  }
}

TEST(LocalConfig, ListsAreBounded) {
  std::string text = "[\"a\"";
  for (int i = 0; i < 1000; ++i) text += ",\"a\"";
  EXPECT_EQ(json_strings(text + "]"), std::nullopt);
}

TEST(LocalConfig, OnlyLayersOneCanDoWithoutMayBeMissing) {
  EXPECT_EQ(acceptable_layer("cgroup"), Layer::kCgroup);
  EXPECT_EQ(acceptable_layer("landlock"), Layer::kLandlock);
  for (const char* essential : {"user", "pid", "mount", "capabilities", "descriptors", "rlimit", "", "all"}) {
    EXPECT_EQ(acceptable_layer(essential), std::nullopt) << essential;
  }
}

TEST(LocalConfig, LayersAreNamedInTheirOrder) {
  EXPECT_EQ(layer_names(0), "");
  EXPECT_EQ(layer_names(bit(Layer::kSeccomp) | bit(Layer::kUser)), "user,seccomp");
}

TEST(LocalConfig, ACommandsLimitsGoOverThoseOfTheSandbox) {
  Limits over;
  over.processes = 3;
  const EffectiveLimits merged = merge(default_config().limits, over);
  EXPECT_EQ(merged.processes, 3u);
  EXPECT_EQ(merged.memory_bytes, default_config().limits.memory_bytes);
}

}  // namespace
}  // namespace berth::local
