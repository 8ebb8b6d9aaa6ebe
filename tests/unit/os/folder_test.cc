#include "core/os/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace berth::os {
namespace {

class Folders : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-folder-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  static unsigned mode_of(const std::filesystem::path& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

  std::filesystem::path dir_;
};

TEST_F(Folders, EveryOneThatIsMadeIsPrivateAndTheOthersStayAsTheyAre) {
  const mode_t before = ::umask(0);
  std::filesystem::create_directory(dir_ / "there");
  const Status made = make_private_folders(dir_ / "there" / "a" / "b");
  ::umask(before);
  EXPECT_TRUE(made);
  EXPECT_EQ(mode_of(dir_ / "there"), 0777u);
  EXPECT_EQ(mode_of(dir_ / "there" / "a"), 0700u);
  EXPECT_EQ(mode_of(dir_ / "there" / "a" / "b"), 0700u);
  EXPECT_TRUE(make_private_folders(dir_ / "there" / "a" / "b")) << "again";
}

TEST_F(Folders, AFileInTheWayIsNamed) {
  std::ofstream(dir_ / "file") << "x";
  const Status made = make_private_folders(dir_ / "file" / "a");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find((dir_ / "file").string()), std::string::npos);
}

TEST_F(Folders, ALinkThatLeadsNowhereIsNotTakenForAMissingFile) {
  EXPECT_TRUE(check_no_dangling_link(dir_ / "missing"));
  std::filesystem::create_symlink("nowhere", dir_ / "link");
  const Status checked = check_no_dangling_link(dir_ / "link");
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("'nowhere'"), std::string::npos);
  std::ofstream(dir_ / "nowhere") << "x";
  EXPECT_TRUE(check_no_dangling_link(dir_ / "link"));
}

}  // namespace
}  // namespace berth::os
