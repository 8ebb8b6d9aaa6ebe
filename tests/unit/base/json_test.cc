#include "core/base/json.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace berth {
namespace {

void expect_refused(std::string_view text, std::string_view words,
                    ErrorKind kind = ErrorKind::kInvalidArgument) {
  const auto value = parse_json(text);
  ASSERT_FALSE(value.has_value()) << text;
  EXPECT_EQ(value.error().kind(), kind) << text;
  EXPECT_NE(value.error().message().find(words), std::string::npos)
      << text << ": " << value.error().message();
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, ReadsEveryKindOfValue) {
  const auto value = parse_json(R"( {"a":[1,-2,3.5,true,false,null,"é\n"]} )");
  ASSERT_TRUE(value.has_value()) << value.error().message();
  EXPECT_EQ(to_json_text(*value), R"({"a":[1,-2,3.5E0,true,false,null,"é\n"]})");
}

TEST(Json, ScalarsAreDocuments) {
  EXPECT_TRUE(parse_json("1").has_value());
  EXPECT_TRUE(parse_json("\"a\"").has_value());
  EXPECT_TRUE(parse_json("null").has_value());
}

TEST(Json, WhatIsNotJsonIsRefused) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "'a'", "[1 2]", "01", "+1",
                           ".5", "NaN", "Infinity", "\"\\x41\"", "\"\t\"", "\"\\ud800\"",
                           "// a\n1", "nul"})
    expect_refused(text, "not valid json");
}

TEST(Json, TextAfterTheDocumentIsRefusedWithItsPlace) {
  expect_refused("{} {}", "byte 3");
  expect_refused("1 x", "byte 2");
  EXPECT_TRUE(parse_json("{} \r\n\t").has_value());
}

TEST(Json, ASyntaxErrorSaysWhere) {
  const auto value = parse_json(R"({"a": 1, "b": ?})");
  ASSERT_FALSE(value.has_value());
  EXPECT_NE(value.error().message().find("at byte 14"), std::string::npos)
      << value.error().message();
}

TEST(Json, InvalidUtf8IsRefused) {
  expect_refused("\"\xFF\"", "not valid json");
  expect_refused("\"\xED\xA0\x80\"", "not valid json");
  expect_refused("\"\xC0\xAF\"", "not valid json");
}

TEST(Json, ARepeatedKeyIsRefused) {
  expect_refused(R"({"a":1,"a":1})", "repeated");
  expect_refused(R"({"b":{"a":1,"a":2}})", "repeated");
  expect_refused(R"([{"a":1,"b":2,"a":3}])", "repeated");
}

TEST(Json, ARepeatedKeyIsFoundBehindAnEscape) {
  expect_refused(R"({"a":1,"\u0061":2})", "repeated");
}

TEST(Json, TextThatLooksLikeAKeyIsNotCountedAsOne) {
  for (const char* text : {R"({"a":"\"a\":1"})", R"(["a","a",":"])", R"({"a\"":1,"a":"\\"})",
                           R"({"a" : {"a" : {"a" : []}}})", R"(["\":"])"})
    EXPECT_TRUE(parse_json(text).has_value()) << text;
}

TEST(Json, BytesAreBounded) {
  const auto value = parse_json("\"aaaa\"", {.bytes_max = 5});
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().kind(), ErrorKind::kLimit);
  EXPECT_TRUE(parse_json("\"aaa\"", {.bytes_max = 5}).has_value());
}

TEST(Json, DepthIsBounded) {
  EXPECT_TRUE(parse_json(nested(32)).has_value());
  EXPECT_FALSE(parse_json(nested(33)).has_value());
  EXPECT_FALSE(parse_json(nested(100'000)).has_value());
  EXPECT_TRUE(parse_json(nested(4), {.depth_max = 4}).has_value());
  EXPECT_FALSE(parse_json(nested(5), {.depth_max = 4}).has_value());
}

TEST(Json, CanonicalTextSortsKeysByBytesAtEveryDepth) {
  const auto value = parse_json(R"({ "b" : 1, "a" : { "é":1, "z":2, "Z":3 }, "":[{"d":1,"c":2}] })");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(canonical_json(*value), R"({"":[{"c":2,"d":1}],"a":{"Z":3,"z":2,"é":1},"b":1})");
}

TEST(Json, EqualDocumentsHaveEqualCanonicalText) {
  const auto one = parse_json(R"({"a":"\u00e9","b":[1,2]})");
  const auto two = parse_json("{\"b\":[1, 2],\n\"a\":\"\xC3\xA9\"}");
  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_EQ(canonical_json(*one), canonical_json(*two));
}

TEST(Json, MembersHaveTheirTypesOrAnErrorThatNamesThePlace) {
  const auto value = parse_json(R"({"s":"x","i":7,"t":true,"o":{},"a":[],"n":null,"d":1.5})");
  ASSERT_TRUE(value.has_value());
  const auto& object = value->get_object();
  EXPECT_EQ(json_string(object, "s", "spec").value(), "x");
  EXPECT_EQ(json_int(object, "i", "spec").value(), 7);
  EXPECT_TRUE(json_bool(object, "t", "spec").value());
  EXPECT_TRUE(json_object(object, "o", "spec").value()->empty());
  EXPECT_TRUE(json_array(object, "a", "spec").value()->empty());

  EXPECT_EQ(json_string(object, "i", "spec").error().message(),
            "spec.i must be a string, not an integer");
  EXPECT_EQ(json_int(object, "d", "spec").error().message(),
            "spec.d must be an integer, not a float");
  EXPECT_EQ(json_bool(object, "n", "spec").error().message(),
            "spec.n must be a boolean, not null");
  EXPECT_EQ(json_object(object, "a", "spec").error().message(),
            "spec.a must be an object, not an array");
  EXPECT_EQ(json_array(object, "o", "spec").error().message(),
            "spec.o must be an array, not an object");
  EXPECT_EQ(json_array(object, "x", "spec").error().message(),
            "spec.x is missing; it must be an array");
}

TEST(Json, IntegersBeyond64BitsAreNotRounded) {
  const auto value = parse_json(R"({"max":9223372036854775807,"over":9223372036854775808})");
  ASSERT_TRUE(value.has_value());
  const auto& object = value->get_object();
  EXPECT_EQ(json_int(object, "max", "x").value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(json_int(object, "over", "x").has_value());
}

TEST(Json, EveryDoubleComesBackAsItWas) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    const std::string text = to_json_text(number);
    const auto value = parse_json(text);
    ASSERT_TRUE(value.has_value()) << text << ": " << value.error().message();
    ASSERT_EQ(value->as_double(), number) << text;
  }
}

TEST(Json, ANumberIsTheNearestDouble) {
  EXPECT_EQ(parse_json("0.30000000000000004")->as_double(), 0.30000000000000004);
  EXPECT_EQ(parse_json("333333333333333333333333333333333333333333")->as_double(),
            333333333333333333333333333333333333333333.0);
  EXPECT_EQ(parse_json("[2.2250738585072011e-308]")->as_array()[0].as_double(),
            2.2250738585072011e-308);
  EXPECT_EQ(parse_json("5e-324")->as_double(), 5e-324);
}

TEST(Json, ANumberTooSmallIsZeroAndOneTooLargeIsRefused) {
  EXPECT_EQ(parse_json("1e-400")->as_double(), 0.0);
  EXPECT_TRUE(std::signbit(parse_json("-1e-400")->as_double()));
  expect_refused("1e400", "at byte 5");
  expect_refused("[-1e309]", "not valid json");
}

}  // namespace
}  // namespace berth
