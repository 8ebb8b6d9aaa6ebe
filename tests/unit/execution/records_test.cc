#include "core/execution/records.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr char kNonce[] = "0011223344556677";

std::string record(std::string_view kind, std::string_view header, std::string_view blob = {}) {
  return fmt::format("{} {} {}\n{}\n{}\n", kind, header.size(), blob.size(), header, blob);
}

std::string file(std::string_view records) {
  return fmt::format("berth-result 1 {}\n{}", kNonce, records);
}

ProgramRecords read(std::string_view records) { return read_records(file(records), kNonce); }

std::string png(unsigned char width) {
  std::string out("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x02\x08\x02\0\0\0CRC_", 33);
  out[19] = static_cast<char>(width);
  return out + std::string("\0\0\0\0IEND\xAE\x42\x60\x82", 12);
}

std::string figure(int order, int part, const std::string& bytes) {
  return record("figure", fmt::format(R"({{"order":{},"part":{},"label":"f"}})", order, part), bytes);
}

TEST(Records, EverythingThatAProgramLeaves) {
  const ProgramRecords records = read(
      figure(2, 0, png(20)) + figure(1, 0, png(10)) +
      record("chart", R"({"type":"bar","title":"t","elements":[]})") +
      record("result", R"({"name":"result","text":"[1]","truncated":false,"json":[1]})") +
      record("error", R"({"name":"E","value":"v","traceback":"tb"})") +
      record("note", R"({"text":"n"})") + record("end", "{}"));
  EXPECT_TRUE(records.complete);
  ASSERT_EQ(records.charts.size(), 3u);
  EXPECT_EQ(records.charts[0].format, Chart::Format::kInteractive);
  EXPECT_EQ(records.charts[1].width, 10u);
  EXPECT_EQ(records.charts[2].width, 20u);
  ASSERT_TRUE(records.result);
  EXPECT_EQ(records.result->text, "[1]");
  EXPECT_TRUE(records.result->json);
  ASSERT_TRUE(records.error);
  EXPECT_EQ(records.error->traceback, "tb");
  EXPECT_EQ(records.notes, std::vector<std::string>{"n"});
}

TEST(Records, ALaterPictureOfTheSameFigureTakesItsPlace) {
  const ProgramRecords records = read(figure(1, 0, png(10)) + figure(1, 1, png(11)) + figure(1, 0, png(12)));
  ASSERT_EQ(records.charts.size(), 2u);
  EXPECT_EQ(records.charts[0].width, 12u);
  EXPECT_EQ(records.charts[1].width, 11u);
}

TEST(Records, AnotherRunsFileIsNotRead) {
  const std::string other = "berth-result 1 ffff\n" +
                            record("result", R"({"name":"result","text":"x","truncated":false})");
  const ProgramRecords records = read_records(other, kNonce);
  EXPECT_FALSE(records.result);
  ASSERT_EQ(records.notes.size(), 1u);
  EXPECT_NE(records.notes[0].find("does not belong to this run"), std::string::npos);
}

TEST(Records, EveryCutOffFileIsReadAsFarAsItGoes) {
  const std::string whole =
      file(record("result", R"({"name":"result","text":"x","truncated":false})") + figure(1, 0, png(9)) +
           record("end", "{}"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const ProgramRecords records = read_records(std::string_view(whole).substr(0, length), kNonce);
    EXPECT_FALSE(records.complete) << length;
    EXPECT_LE(records.notes.size(), 1u) << length;
  }
  EXPECT_TRUE(read_records(whole, kNonce).complete);
}

TEST(Records, SizesThatAreNoNumbersEndTheReading) {
  for (const char* head : {"result -1 0\n", "result 1 -1\n", "result 99999999999999999999 0\n", "result\n",
                           "result 1\n", " 1 1\n", "result 0x1 0\n", "result 1 0 0\n", "result 10 0\n{}\n\n",
                           "result 8000000 0\n", "result 2 5000000\n{}\n"}) {
    const ProgramRecords records = read(head);
    EXPECT_FALSE(records.result) << head;
    EXPECT_EQ(records.notes.size(), 1u) << head;
  }
}

TEST(Records, ABadRecordSpoilsItselfAlone) {
  const std::string good = record("result", R"({"name":"result","text":"x","truncated":false})");
  std::string deep = R"({"name":"result","text":"x","truncated":false,"json":)";
  deep += std::string(500, '[') + std::string(500, ']') + "}";
  for (const std::string& bad :
       {record("result", "{"), record("result", "[]"), record("result", R"({"name":"other","text":"x","truncated":false})"),
        record("result", R"({"name":"result","text":1,"truncated":false})"), record("result", deep),
        record("error", R"({"name":"E"})"), record("figure", R"({"order":1,"part":0,"label":"l"})", "no picture"),
        record("figure", R"({"order":"1","part":0,"label":"l"})", png(1)), record("exit", R"({"code":0})"),
        record("note", "{\"text\":\"\xFF\"}"), record("end", "")}) {
    const ProgramRecords records = read(bad + good);
    EXPECT_TRUE(records.result && records.result->text == "x") << bad;
    EXPECT_FALSE(records.notes.empty()) << bad;
    EXPECT_FALSE(records.error) << bad;
    EXPECT_TRUE(records.charts.empty()) << bad;
  }
}

TEST(Records, ARefusedChartSaysWhyAndLeavesTheResult) {
  const ProgramRecords records =
      read(record("chart", R"({"type":"pie","elements":[]})") +
           record("result", R"({"name":"results","text":"3","truncated":false})"));
  EXPECT_TRUE(records.charts.empty());
  EXPECT_TRUE(records.result);
  ASSERT_EQ(records.notes.size(), 1u);
  EXPECT_NE(records.notes[0].find("pie"), std::string::npos);
}

TEST(Records, CountsAndSizesAreBounded) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += figure(i, 0, png(1)) + record("note", R"({"text":"n"})");
  const ProgramRecords records = read(many);
  EXPECT_EQ(records.charts.size(), kFiguresMax);
  EXPECT_EQ(records.notes.size(), kNotesMax);

  std::string big = png(1);
  big.insert(33, std::string(3 << 20, 'x'));
  const ProgramRecords large = read(figure(1, 0, big) + figure(2, 0, big) + figure(3, 0, big));
  EXPECT_EQ(large.charts.size(), 2u);

  const std::string text(3 << 20, 'y');
  const ProgramRecords longer =
      read(record("result", fmt::format(R"({{"name":"result","text":"{}","truncated":false}})", text)));
  ASSERT_TRUE(longer.result);
  EXPECT_EQ(longer.result->text.size(), kResultTextMax);
  EXPECT_TRUE(longer.result->truncated);
}

TEST(Records, LongTextsAreCutBetweenCharacters) {
  std::string value;
  for (int i = 0; i < 40'000; ++i) value += "\u20AC";
  const ProgramRecords records =
      read(record("error", fmt::format(R"({{"name":"E","value":"{}","traceback":""}})", value)));
  ASSERT_TRUE(records.error);
  EXPECT_LE(records.error->value.size(), std::size_t{64} * 1024);
  EXPECT_EQ(records.error->value.size() % 3, 0u);
}

}  // namespace
}  // namespace berth
