#include "core/execution/chart.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace berth {
namespace {

Result<boost::json::value> validated(std::string_view text) {
  return validate_chart(parse_json(text).value());
}

std::string refusal(std::string_view text) {
  const auto chart = validated(text);
  return chart ? "accepted" : chart.error().message();
}

TEST(ValidateChart, TheThreeKindsAreTakenWithTheirFieldsAndNoOthers) {
  EXPECT_EQ(canonical_json(validated(R"({"type":"line","title":"t","x_label":"x","y_label":"y","x_scale":"datetime",
      "elements":[{"label":"a","points":[["2024-01-01",1],[2,null]],"color":"red"}],"height":3})").value()),
            R"({"elements":[{"label":"a","points":[["2024-01-01",1],[2,null]]}],"title":"t","type":"line",)"
            R"("x_label":"x","x_scale":"datetime","y_label":"y"})");
  EXPECT_EQ(refusal(R"({"type":"scatter","title":"t","x_scale":null,"elements":[]})"), "accepted");
  EXPECT_EQ(refusal(R"({"type":"bar","title":"t","elements":[{"group":"g","label":"l","value":1}]})"),
            "accepted");
}

TEST(ValidateChart, ARefusalNamesThePlace) {
  EXPECT_EQ(refusal("[]"), "it is not a dictionary");
  EXPECT_EQ(refusal(R"({"elements":[]})"), "type is missing");
  EXPECT_EQ(refusal(R"({"type":"pie","elements":[]})"), "type \"pie\" is none of line, scatter and bar");
  EXPECT_EQ(refusal(R"({"type":"line","title":3,"elements":[]})"), "title is not text");
  EXPECT_EQ(refusal(R"({"type":"line","x_scale":"log","elements":[]})"),
            "x_scale is neither \"datetime\" nor None");
  EXPECT_EQ(refusal(R"({"type":"line"})"), "elements is not a list");
  EXPECT_EQ(refusal(R"({"type":"line","elements":[1]})"), "elements[0] is not a dictionary");
  EXPECT_EQ(refusal(R"({"type":"line","elements":[{"points":[]}]})"), "elements[0].label is missing");
  EXPECT_EQ(refusal(R"({"type":"line","elements":[{"label":"a","points":[[1,2],[3]]}]})"),
            "elements[0].points[1] is not a pair");
  EXPECT_EQ(refusal(R"({"type":"line","elements":[{"label":"a","points":[[1,"2"]]}]})"),
            "elements[0].points[0] is not [number or text, number]");
  EXPECT_EQ(refusal(R"({"type":"line","elements":[{"label":"a","points":[[true,2]]}]})"),
            "elements[0].points[0] is not [number or text, number]");
  EXPECT_EQ(refusal(R"({"type":"bar","elements":[{"label":"a","value":"3"}]})"),
            "elements[0].value is not a number");
}

std::string small_png() {
  return std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0CRC_", 33) +
         std::string("\0\0\0\0IEND\xAE\x42\x60\x82", 12);
}

TEST(PngSize, ReadsTheHeader) {
  const Result<PngSize> size = png_size(small_png());
  ASSERT_TRUE(size) << size.error().message();
  EXPECT_EQ(size->width, 3u);
  EXPECT_EQ(size->height, 2u);
}

TEST(PngSize, EveryShorterFileAndOtherFilesAreRefused) {
  const std::string png = small_png();
  for (std::size_t length = 0; length < png.size(); ++length) {
    EXPECT_FALSE(png_size(std::string_view(png).substr(0, length))) << length;
  }
  EXPECT_FALSE(png_size("GIF89a" + png));
  std::string wide = png;
  wide[16] = '\x7F';
  EXPECT_FALSE(png_size(wide));
}

}  // namespace
}  // namespace berth
