#include "core/execution/document.h"

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/execution/base64.h"
#include "core/execution/message.h"

namespace berth {
namespace {

Chart picture(std::size_t bytes) {
  Chart chart;
  chart.png = std::string(bytes, '\xAB');
  chart.width = 4;
  chart.height = 5;
  chart.label = "Figure 1";
  return chart;
}

ExecutionResult full_result() {
  ExecutionResult result;
  result.status = ExecutionStatus::kFailed;
  result.message = "text\nmore";
  result.stdout_text = {"out \x1b[0m\xE2\x82\xAC", 100, true, 88};
  result.stderr_text = {"err", 3, false, 0};
  result.result = ResultValue{"results", "[1, 2]", false, boost::json::value{1, 2}};
  Chart interactive;
  interactive.format = Chart::Format::kInteractive;
  interactive.data = {{"type", "bar"}, {"elements", boost::json::array{}}};
  result.charts = {interactive, picture(10)};
  result.error = ProgramError{"ValueError", "bad", "Traceback ..."};
  result.notes = {"one", "two"};
  result.exit_code = 1;
  result.cause = Cause::kExited;
  result.timings_us = {{"run", 12}, {"collect", 3}};
  return result;
}

TEST(Document, WhatIsStoredIsReadBackWhole) {
  ExecutionResult result = full_result();
  const std::string document = bounded_document(result);
  const Result<ExecutionResult> back = execution_result_from_json(document);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(to_json_text(to_json(*back)), to_json_text(to_json(result)));
  EXPECT_EQ(back->charts[1].png, std::string(10, '\xAB'));
  EXPECT_FALSE(back->signal);
}

TEST(Document, AnythingElseIsRefusedWithTheReason) {
  ExecutionResult result = full_result();
  const std::string good = bounded_document(result);
  EXPECT_FALSE(execution_result_from_json("[]"));
  EXPECT_FALSE(execution_result_from_json("{"));
  EXPECT_FALSE(execution_result_from_json(good.substr(0, good.size() / 2)));
  boost::json::object other = parse_json(good).value().as_object();
  other["version"] = 2;
  EXPECT_EQ(execution_result_from_json(to_json_text(other)).error().message(),
            "the result document has version 2");
  for (const char* key : {"status", "message", "stdout", "streams", "charts", "notes", "timings", "cause"}) {
    boost::json::object less = parse_json(good).value().as_object();
    less.erase(key);
    EXPECT_FALSE(execution_result_from_json(to_json_text(less))) << key;
  }
}

TEST(Document, TheLastFiguresGoFirstWhenItIsTooLarge) {
  ExecutionResult result = full_result();
  for (int i = 0; i < 6; ++i) result.charts.push_back(picture(std::size_t{3} << 20));
  const std::string document = bounded_document(result);
  EXPECT_LE(document.size(), kDocumentBytesMax);
  EXPECT_EQ(result.charts.size(), 5u);
  EXPECT_EQ(result.notes.back(), "charts were left out: the whole result is too large");
  EXPECT_TRUE(execution_result_from_json(document));
}

TEST(Document, StreamsOfControlCharactersStayWithinTheBound) {
  ExecutionResult result = full_result();
  result.stdout_text = {std::string(std::size_t{4} << 20, '\x01'), std::size_t{4} << 20, false, 0};
  result.stderr_text = result.stdout_text;
  const std::string document = bounded_document(result);
  EXPECT_LE(document.size(), kDocumentBytesMax);
  EXPECT_TRUE(result.stdout_text.truncated);
  EXPECT_TRUE(result.charts.empty());
}

TEST(Base64, EveryLengthComesBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    const Result<std::string> back = from_base64(to_base64(bytes));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(to_base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
  for (const char* bad : {"YQ=", "Y===", "Y!==", "=YQ=", "YWJj\n"}) EXPECT_FALSE(from_base64(bad)) << bad;
}

TEST(Message, PartsInOrderEachOnlyWhenPresent) {
  ExecutionRequest request;
  ExecutionResult result;
  result.status = ExecutionStatus::kCompleted;
  result.cause = Cause::kExited;
  result.exit_code = 0;
  EXPECT_EQ(compose_message(result, request), "");
  result.stdout_text.text = "out\n\n";
  result.stderr_text.text = "err\n";
  EXPECT_EQ(compose_message(result, request), "out\nerr");
  result.exit_code = 1;
  result.error = ProgramError{"ValueError", "bad", ""};
  result.notes = {"a note"};
  EXPECT_EQ(compose_message(result, request), "out\nerr\nError: ValueError: bad\nNote: a note");
  result.error->value.clear();
  result.stdout_text.text.clear();
  EXPECT_EQ(compose_message(result, request), "err\nError: ValueError\nNote: a note");
}

TEST(Message, EveryEndHasItsSentence) {
  ExecutionRequest request;
  request.limits.memory_bytes = std::uint64_t{256} << 20;
  request.timeout = std::chrono::seconds(30);
  ExecutionResult result;
  const auto sentence = [&](Cause cause) {
    result.cause = cause;
    return end_sentence(result, request);
  };
  result.exit_code = 3;
  EXPECT_EQ(sentence(Cause::kExited), "The program ended with exit code 3.");
  result.signal = 11;
  EXPECT_EQ(sentence(Cause::kSignalled), "The program was ended by signal 11 (SIGSEGV).");
  result.signal = 64;
  EXPECT_EQ(sentence(Cause::kSignalled), "The program was ended by signal 64.");
  EXPECT_EQ(sentence(Cause::kOom), "The program used more memory than its limit of 256 MiB and was ended.");
  EXPECT_EQ(sentence(Cause::kWall), "The program was ended after its time limit of 30 s.");
  for (const Cause cause : {Cause::kCpu, Cause::kOutput, Cause::kDisk, Cause::kCancelled, Cause::kLost}) {
    EXPECT_NE(sentence(cause), "") << to_string(cause);
  }
}

TEST(Message, IsBoundedWhateverTheStreamsHold) {
  ExecutionResult result;
  result.stdout_text.text = std::string(std::size_t{4} << 20, 'o');
  result.stderr_text.text = std::string(std::size_t{4} << 20, 'e');
  result.error = ProgramError{"E", std::string(std::size_t{1} << 20, 'v'), ""};
  result.notes.assign(5, std::string(10'000, 'n'));
  const std::string message = compose_message(result, {});
  EXPECT_LE(message.size(), kMessageBytesMax + 8192);
  EXPECT_NE(message.find("Error: E: vvv"), std::string::npos);
}

TEST(Message, OnlyBasePackagesGetTheirNote) {
  EXPECT_NE(missing_package_note({"ModuleNotFoundError", "No module named 'yfinance'", ""}), "");
  EXPECT_NE(missing_package_note({"ModuleNotFoundError", "No module named 'pandas.core'", ""}), "");
  EXPECT_EQ(missing_package_note({"ModuleNotFoundError", "No module named 'yfinance2'", ""}), "");
  EXPECT_EQ(missing_package_note({"ImportError", "No module named 'yfinance'", ""}), "");
}

}  // namespace
}  // namespace berth
