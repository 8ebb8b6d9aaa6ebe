#include "interpreters.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace berth::local {
namespace {

namespace fs = std::filesystem;

class Interpreters : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "berth-interpreters-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static void write(const std::string& file, const std::string& text) {
    std::ofstream(file) << text;
  }

  fs::path folder_;
};

TEST_F(Interpreters, AnswersAreRememberedUnderTheirFingerprintAlone) {
  const std::string file = path("interpreters");
  EXPECT_FALSE(remembered_answers(file, "one"));
  remember_answers(file, "one", "python3=3.11\nnode=v20\n");
  EXPECT_EQ(remembered_answers(file, "one"), "python3=3.11\nnode=v20\n");
  EXPECT_FALSE(remembered_answers(file, "on"));
  EXPECT_FALSE(remembered_answers(file, "two"));
  remember_answers(file, "two", "node=v22\n");
  EXPECT_FALSE(remembered_answers(file, "one"));
  EXPECT_EQ(remembered_answers(file, "two"), "node=v22\n");
}

TEST_F(Interpreters, TheFileOfAnswersIsPrivateAndLeavesNoDraft) {
  remember_answers(path("interpreters"), "one", "x");
  struct stat found{};
  ASSERT_EQ(stat(path("interpreters").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(Interpreters, AFolderThatCannotBeWrittenIsNoError) {
  remember_answers(path("missing/interpreters"), "one", "x");
  EXPECT_FALSE(remembered_answers(path("missing/interpreters"), "one"));
}

TEST_F(Interpreters, TheFingerprintChangesWithAnInterpreterAPackageAndAFont) {
  const std::string python = path("python3");
  const std::string packages = path("dist-packages");
  const std::string fonts = path("fonts");
  write(python, "old");
  fs::create_directories(packages);
  fs::create_directories(fonts + "/truetype/noto");
  const std::vector<std::string> paths = {python, packages, fonts};

  const std::string before = interpreter_fingerprint(paths);
  EXPECT_EQ(interpreter_fingerprint(paths), before);

  write(python, "newer");
  const std::string other_python = interpreter_fingerprint(paths);
  EXPECT_NE(other_python, before);

  fs::create_directory(packages + "/pandas-2.dist-info");
  const std::string other_package = interpreter_fingerprint(paths);
  EXPECT_NE(other_package, other_python);

  write(fonts + "/truetype/noto/cjk.otf", "font");
  const std::string other_font = interpreter_fingerprint(paths);
  EXPECT_NE(other_font, other_package);

  fs::remove(python);
  EXPECT_NE(interpreter_fingerprint(paths), other_font);
}

}  // namespace
}  // namespace berth::local
