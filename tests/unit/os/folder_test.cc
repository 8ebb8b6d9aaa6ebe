#include "core/os/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/os/local_socket.h"

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

TEST_F(Folders, ALockThatIsGivenBackLeavesNoFileAndNobodyIsFooledByOne) {
  const auto folder = PrivateFolder::open(dir_ / "private");
  ASSERT_TRUE(folder);
  auto lock = folder->try_lock("a.lock");
  ASSERT_TRUE(lock && *lock);
  const auto other = folder->try_lock("a.lock");
  ASSERT_TRUE(other);
  EXPECT_FALSE(*other) << "it is held";
  folder->give_back("a.lock", std::move(**lock));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "private"));
  auto again = folder->try_lock("a.lock");
  ASSERT_TRUE(again && *again);
  // One whose file somebody removed gives back only what is its own.
  std::filesystem::remove(dir_ / "private" / "a.lock");
  auto new_one = folder->try_lock("a.lock");
  ASSERT_TRUE(new_one && *new_one);
  folder->give_back("a.lock", std::move(**again));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "private" / "a.lock"));
}

}  // namespace
}  // namespace berth::os
