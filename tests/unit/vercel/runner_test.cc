// Both runners, each run by its own interpreter: what one can do, the other can.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "plugins/vercel/encoding.h"
#include "plugins/vercel/runner_output.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;

class VercelRunner : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "berth-runner-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  // What the runner makes of a shell's script.
  RunnerOutput run(const std::string& script, json::object more = {}) {
    json::object spec{{"argv", {"sh", "-c", script}},
                      {"env", json::array()},
                      {"cwd", ""},
                      {"stdin", ""},
                      {"token", fresh_name("")},
                      {"limit_ms", 0},
                      {"stdout_cap", 0},
                      {"stderr_cap", 0}};
    for (const auto& [key, value] : more) spec[key] = value;
    const std::string text = json::serialize(spec);
    ::setenv("BERTH_SPEC_0", text.substr(0, text.size() / 2).c_str(), 1);
    ::setenv("BERTH_SPEC_1", text.substr(text.size() / 2).c_str(), 1);
    const std::string runner = std::string(BERTH_VERCEL_SOURCES) + "/" + GetParam();
    const std::string start =
        std::string_view(GetParam()).ends_with(".py") ? "python3 -I -S " : "node ";
    const auto out = folder_ / "out", err = folder_ / "err";
    const std::string line = start + runner + " >" + out.string() + " 2>" + err.string();
    status_ = std::system(line.c_str());
    RunnerOutput output(number(spec, "stdout_cap"), number(spec, "stderr_cap"));
    output.put(Stream::kStdout, contents(out));
    output.put(Stream::kStderr, contents(err));
    return output;
  }
  static std::uint64_t number(const json::object& spec, std::string_view key) {
    return spec.at(json::string_view(key.data(), key.size())).to_number<std::uint64_t>();
  }
  static std::string bytes(RunnerOutput& output, Stream stream) {
    std::string out;
    for (const Piece& piece : output.take())
      if (piece.stream == stream) out += piece.bytes;
    return out;
  }

  // A part of the program's input, whole.
  void part(int number, const std::string& text) {
    const std::string path = (folder_ / "input").string() + "." + std::to_string(number);
    std::ofstream(path) << text;
    std::ofstream whole(path + ".ok");
  }
  int left_of_input() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      count += entry.path().filename().string().starts_with("input") ? 1 : 0;
    return count;
  }

  std::filesystem::path folder_;
  int status_ = -1;
};

TEST_P(VercelRunner, TellsExactBytesOfBothStreamsAndTheExitCode) {
  RunnerOutput output = run(R"(printf 'a\000\377'; printf e >&2; exit 3)");
  ASSERT_TRUE(output.result().has_value()) << output.other();
  EXPECT_EQ(output.result()->cause, Cause::kExited);
  EXPECT_EQ(output.result()->exit_code, 3);
  EXPECT_EQ(output.result()->stdout_bytes, 3u);
  EXPECT_EQ(output.result()->stderr_bytes, 1u);
  EXPECT_EQ(bytes(output, Stream::kStdout), std::string("a\0\xff", 3));
}

TEST_P(VercelRunner, TellsSignalsTimesAndMissingPrograms) {
  EXPECT_EQ(run("kill -11 $$").result()->signal, 11u);
  EXPECT_EQ(run("sleep 1000", {{"limit_ms", 100}}).result()->cause, Cause::kWall);
  const RunnerOutput missing = run("", {{"argv", {"no-such-program"}}});
  EXPECT_EQ(missing.result()->exit_code, 127);
  EXPECT_GT(missing.result()->stderr_bytes, 0u);
}

TEST_P(VercelRunner, EndsWhatIsLeftOfTheProgramEvenInASessionOfItsOwn) {
  const auto pid = folder_ / "pid";
  RunnerOutput output =
      run("setsid sh -c 'echo $$ > " + pid.string() + "; exec sleep 1000' & while [ ! -s " +
          pid.string() + " ]; do sleep 0.01; done");
  ASSERT_TRUE(output.result().has_value()) << output.other();
  EXPECT_EQ(output.result()->cause, Cause::kExited);
  const std::string number = contents(pid);
  const std::string cmdline = contents("/proc/" + number.substr(0, number.size() - 1) + "/cmdline");
  EXPECT_EQ(cmdline.find("sleep"), std::string::npos);
}

TEST_P(VercelRunner, CountsBeyondTheCapAndSendsOneByteMoreThanIt) {
  RunnerOutput output = run("head -c 300000 /dev/zero", {{"stdout_cap", 1000}});
  ASSERT_TRUE(output.result().has_value()) << output.other();
  EXPECT_EQ(output.result()->stdout_bytes, 300'000u);
  EXPECT_EQ(bytes(output, Stream::kStdout).size(), 1001u);
}

TEST_P(VercelRunner, GivesTheInputTheFolderAndTheVariablesAndShowsNothingOfItself) {
  const auto input = folder_ / "input";
  part(0, "i");
  part(1, "n\n");
  part(2, "");
  json::object more{{"stdin", input.string()}, {"cwd", folder_.string()}};
  more["env"] = json::array{json::array{"V", "a'b\n$V"}};
  RunnerOutput output = run("cat; pwd; printf %s \"$V\"; env | grep -c BERTH_SPEC", more);
  EXPECT_EQ(bytes(output, Stream::kStdout), "in\n" + folder_.string() + "\na'b\n$V0\n");
  EXPECT_EQ(left_of_input(), 0);
}

TEST_P(VercelRunner, TakesItsInputAsItComesAndNothingBeforeItIsWhole) {
  // Each part is put there by the program itself once it has read the one before.
  const std::string script =
      "put() { printf %s \"$2\" >input.$1; sleep 0.1; printf %s \"$3\" >>input.$1; >input.$1.ok; }; "
      "put 0 a b; head -c 2; put 1 c d; head -c 2; put 2 '' ''; cat; echo .";
  json::object more{{"stdin", (folder_ / "input").string()}, {"cwd", folder_.string()}};
  RunnerOutput output = run(script, more);
  EXPECT_EQ(bytes(output, Stream::kStdout), "abcd.\n");
  EXPECT_EQ(left_of_input(), 0);
}

TEST_P(VercelRunner, EndsThoughItsInputIsNotReadOrHasNoEnd) {
  part(0, std::string(1 << 20, 'x'));
  json::object more{{"stdin", (folder_ / "input").string()}};
  EXPECT_EQ(run("exec <&-; sleep 0.2; exit 4", more).result()->exit_code, 4);
  EXPECT_EQ(left_of_input(), 0);
  EXPECT_EQ(run("exit 5", more).result()->exit_code, 5);
}

INSTANTIATE_TEST_SUITE_P(Runners, VercelRunner, ::testing::Values("runner.py", "runner.cjs"),
                         [](const auto& runner) {
                           return std::string_view(runner.param).ends_with(".py") ? "Python"
                                                                                  : "Node";
                         });

}  // namespace
}  // namespace berth::vercel
