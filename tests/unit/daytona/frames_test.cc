// Logs that are cut, repeated, marked and mixed with other text, and what is made of them.
#include <gtest/gtest.h>

#include "plugins/daytona/frames.h"

namespace berth::daytona {
namespace {

const char kLog[] =
    "~o 0 aGkgYgo=\n"
    "bash: warning: something else\n"
    "~e 1 ZXJyCg==\n"
    "~o 2 AAH/\n"
    "~x 3 exited 3 8 4\n";

std::string all(FrameReader& frames) {
  std::string out;
  for (const Piece& piece : frames.take())
    out += (piece.stream == Stream::kStdout ? "o:" : "e:") + piece.bytes + ";";
  return out;
}

const std::string kAll = "o:hi b\n;e:err\n;o:" + std::string("\0\1\xff", 3) + ";";

TEST(DaytonaFrames, AreTheSameHoweverTheLogIsCutAndHoweverOftenItIsRead) {
  const std::string_view log(kLog);
  for (std::size_t cut = 0; cut <= log.size(); ++cut) {
    FrameReader frames;
    frames.put(log.substr(0, cut));
    std::string seen = all(frames);
    // The log is read again from its beginning.
    frames.begin();
    frames.put(log);
    seen += all(frames);
    frames.begin();
    frames.put(log);
    seen += all(frames);
    ASSERT_EQ(seen, kAll) << cut;
    ASSERT_TRUE(frames.end());
    EXPECT_EQ(frames.end()->cause, Cause::kExited);
    EXPECT_EQ(frames.end()->exit_code, 3);
    EXPECT_EQ(frames.end()->stdout_bytes, 8u);
    EXPECT_EQ(frames.end()->stderr_bytes, 4u);
    EXPECT_EQ(frames.other(), "bash: warning: something else");
  }
}

TEST(DaytonaFrames, AGapIsNotJumpedOver) {
  FrameReader frames;
  frames.put("~o 0 aGkgYgo=\n~o 2 AAH/\n~x 3 exited 3 8 4\n");
  EXPECT_EQ(all(frames), "o:hi b\n;");
  EXPECT_FALSE(frames.end());
  EXPECT_EQ(frames.place(), 1u);
}

TEST(DaytonaFrames, WhatIsNoFrameChangesNothing) {
  for (const char* bad : {"~o 0 not base64!\n", "~o x aGk=\n", "~q 0 aGk=\n", "~x 0 exited 3 8\n",
                          "~x 0 exited 999 0 0\n", "~x 0 flew 3 0 0\n", "~\n", "~o\n", "\n"}) {
    FrameReader frames;
    frames.put(bad);
    EXPECT_EQ(all(frames), "") << bad;
    EXPECT_FALSE(frames.end()) << bad;
    EXPECT_EQ(frames.place(), 0u) << bad;
  }
  FrameReader frames;
  EXPECT_THROW(frames.put(std::string(FrameReader::kLineBytesMax + 1, 'x')), http::RecordTooLong);
}

TEST(DaytonaFrames, EveryKindOfEndIsRead) {
  const auto end = [](const char* line) {
    FrameReader frames;
    frames.put(line);
    return frames.end().value_or(RunResult{});
  };
  EXPECT_EQ(end("~x 0 signalled 9 0 0\n").cause, Cause::kSignalled);
  EXPECT_EQ(end("~x 0 signalled 9 0 0\n").signal, 9u);
  EXPECT_EQ(end("~x 0 signalled 9 0 0\n").exit_code, -1);
  EXPECT_EQ(end("~x 0 wall 0 5 6\n").cause, Cause::kWall);
  EXPECT_EQ(end("~x 0 wall 0 5 6\n").stderr_bytes, 6u);
}

TEST(DaytonaLogText, TakesStandardOutputOutOfJsonHoweverItIsCut) {
  const std::string json =
      R"({"output":"\u0001\u0001\u0001no","nested":{"stdout":"no"},"stdout":"a\nb\u0001\u00e9",)"
      R"("list":["stdout","no"],"stderr":"no"})";
  for (std::size_t cut = 0; cut <= json.size(); ++cut) {
    LogText log(true);
    std::string out = log.put(std::string_view(json).substr(0, cut));
    out += log.put(std::string_view(json).substr(cut));
    ASSERT_EQ(out, "a\nb\xc3\xa9") << cut;
  }
  LogText broken(true);
  EXPECT_THROW(broken.put("<html>"), std::runtime_error);
}

TEST(DaytonaLogText, DropsTheMarksOfText) {
  LogText log(false);
  EXPECT_EQ(log.put(std::string_view("\1\1\1~o 0\2", 8)), "~o 0");
  EXPECT_EQ(log.put(std::string_view("\2\2x\n", 4)), "x\n");
}

TEST(DaytonaBase64, RefusesWhatIsNone) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("YQ=="), "a");
  EXPECT_EQ(from_base64("YWI="), "ab");
  EXPECT_EQ(from_base64("YWJj"), "abc");
  EXPECT_EQ(from_base64("YWJ"), std::nullopt);
  EXPECT_EQ(from_base64("????"), std::nullopt);
}

}  // namespace
}  // namespace berth::daytona
