#include <gtest/gtest.h>

#include "core/execution/execution.h"

namespace berth {
namespace {

ExecutionRequest good_request() {
  ExecutionRequest request;
  request.code = "print(1)\n";
  request.key = {"owner", "session", "call"};
  return request;
}

std::string refusal(const ExecutionRequest& request) {
  const Status valid = validate(request);
  return valid ? "" : valid.error().message();
}

TEST(Request, AGoodOneIsValid) { EXPECT_EQ(refusal(good_request()), ""); }

TEST(Request, WhatCannotBeRunIsRefusedByName) {
  const auto with = [](auto change) {
    ExecutionRequest request = good_request();
    change(request);
    return refusal(request);
  };
  EXPECT_EQ(with([](auto& r) { r.key.owner = " "; }), "owner, session and call must not be blank");
  for (const char* text : {"a\xff", "a\nb", "a\x1b[0m", "a\x7f", "a\xc2\x9b"}) {
    for (std::string CallKey::*part : {&CallKey::owner, &CallKey::session, &CallKey::call}) {
      EXPECT_EQ(with([&](auto& r) { r.key.*part = text; }),
                "owner, session, call and turn must be valid UTF-8 without control characters");
    }
  }
  EXPECT_EQ(with([](auto& r) { r.key.owner = "Jürgen 日本 \xc2\xa0"; }), "");
  EXPECT_EQ(with([](auto& r) { r.code = std::string("a\0b", 3); }), "code has a NUL at byte 1; remove it");
  EXPECT_NE(with([](auto& r) { r.code.assign((std::size_t{16} << 20) + 1, 'x'); }), "");
  EXPECT_EQ(with([](auto& r) { r.file_name = "../x.py"; }), "file name \"../x.py\" is not a plain name");
  EXPECT_EQ(with([](auto& r) { r.file_name = ".."; }), "file name \"..\" is not a plain name");
  EXPECT_EQ(with([](auto& r) { r.files = {{"a/b", ""}}; }), "file \"a/b\" is not a plain name");
  EXPECT_EQ(with([](auto& r) { r.files = {{"main.py", ""}}; }), "file \"main.py\" has the name of the source");
  EXPECT_EQ(with([](auto& r) { r.files.resize(65, {"f", ""}); }), "more than 64 files");
  EXPECT_EQ(with([](auto& r) { r.arguments = {std::string(1, '\0')}; }), "an argument has a NUL in it");
  EXPECT_EQ(with([](auto& r) { r.packages = {" "}; }), "a package is blank or has a NUL in it");
  EXPECT_EQ(with([](auto& r) { r.env = {{"A=B", "c"}}; }), "env \"A=B\" is no environment variable");
  EXPECT_EQ(with([](auto& r) { r.timeout = Duration(-1); }), "timeout is negative");
  EXPECT_NE(with([](auto& r) { r.stdout_keep_bytes = std::uint64_t{1} << 40; }), "");
  EXPECT_EQ(with([](auto& r) {
              r.language = Language::kJavascript;
              r.packages = {"left-pad"};
            }),
            "packages are for Python programs only");
}

TEST(Request, TheLanguageComesFromTheExtension) {
  EXPECT_EQ(language_of_file("a.py"), Language::kPython);
  EXPECT_EQ(language_of_file("README"), Language::kPython);
  EXPECT_EQ(language_of_file("x.y/README"), Language::kPython);
  EXPECT_EQ(language_of_file("name."), Language::kPython);
  EXPECT_EQ(language_of_file("A.MJS"), Language::kJavascript);
  EXPECT_EQ(language_of_file("a.cjs"), Language::kJavascript);
  EXPECT_EQ(language_of_file("a.js"), Language::kJavascript);
  EXPECT_EQ(language_of_file("a.ts"), std::nullopt);
  EXPECT_EQ(language_from("python"), Language::kPython);
  EXPECT_EQ(language_from("Python"), std::nullopt);
}

TEST(Request, EverythingThatDecidesTheRunIsInTheCanonicalText) {
  const std::string plain = canonical_request(good_request());
  EXPECT_EQ(canonical_request(good_request()), plain);
  const auto differs = [&](auto change) {
    ExecutionRequest request = good_request();
    change(request);
    return canonical_request(request) != plain;
  };
  EXPECT_TRUE(differs([](auto& r) { r.title = "t"; }));
  EXPECT_TRUE(differs([](auto& r) { r.code += "#"; }));
  EXPECT_TRUE(differs([](auto& r) { r.language = Language::kJavascript; }));
  EXPECT_TRUE(differs([](auto& r) { r.file_name = "x.py"; }));
  EXPECT_TRUE(differs([](auto& r) { r.arguments = {"a"}; }));
  EXPECT_TRUE(differs([](auto& r) { r.input = "i"; }));
  EXPECT_TRUE(differs([](auto& r) { r.files = {{"f", "c"}}; }));
  EXPECT_TRUE(differs([](auto& r) { r.env = {{"A", "b"}}; }));
  EXPECT_TRUE(differs([](auto& r) { r.network = Network::kOpen; }));
  EXPECT_TRUE(differs([](auto& r) { r.limits.memory_bytes = 1; }));
  EXPECT_TRUE(differs([](auto& r) { r.limits.cpu_time = Duration(1); }));
  EXPECT_TRUE(differs([](auto& r) { r.packages = {"p"}; }));
  EXPECT_TRUE(differs([](auto& r) { r.image = "i"; }));
  EXPECT_TRUE(differs([](auto& r) { r.timeout = Duration(5); }));
  EXPECT_TRUE(differs([](auto& r) { r.stderr_keep_bytes = 1; }));
  EXPECT_FALSE(differs([](auto& r) {
    r.key = {"other", "other", "other"};
    r.turn = "t";
  }));
}

}  // namespace
}  // namespace berth
