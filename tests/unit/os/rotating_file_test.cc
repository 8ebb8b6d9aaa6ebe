// A log that stays within its bound, whole line by whole line.
#include "core/os/rotating_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/os/fd.h"

namespace berth::os {
namespace {

namespace fs = std::filesystem;

class RotatingFileTest : public testing::Test {
 protected:
  RotatingFileTest() { fs::create_directory(folder_); }
  ~RotatingFileTest() override { fs::remove_all(folder_); }
  std::string text(const char* name) const { return read_file(folder_ / name, 1 << 20).value(); }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("berth-rotating-{}", ::getpid());
};

TEST_F(RotatingFileTest, KeepsAtMostTwoFilesOfItsBoundAndTheNewestLines) {
  RotatingFile file(folder_ / "log", 100);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(file.append(fmt::format("line {}", i)));
  EXPECT_LE(fs::file_size(folder_ / "log"), 100u);
  EXPECT_LE(fs::file_size(folder_ / "log.1"), 100u);
  EXPECT_TRUE(text("log").ends_with("line 999\n"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(RotatingFileTest, ALineStaysOneLineWithinTheBoundAndIsForItsOwnerAlone) {
  RotatingFile file(folder_ / "log", 100);
  ASSERT_TRUE(file.append("two\nlines\rin one"));
  EXPECT_EQ(text("log"), "two lines in one\n");
  ASSERT_TRUE(file.append(std::string(5000, 'x')));
  EXPECT_EQ(fs::file_size(folder_ / "log"), 100u);
  struct stat info {};
  ASSERT_EQ(::stat((folder_ / "log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(RotatingFileTest, TwoWritersOfOnePathFollowEachOthersRotation) {
  RotatingFile first(folder_ / "log", 60);
  RotatingFile second(folder_ / "log", 60);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(first.append(fmt::format("first {}", i)));
    ASSERT_TRUE(second.append(fmt::format("second {}", i)));
  }
  EXPECT_NE((text("log.1") + text("log")).find("first 49\nsecond 49\n"), std::string::npos);
  EXPECT_LE(fs::file_size(folder_ / "log"), 60u);
}

TEST_F(RotatingFileTest, ALinkOrAFolderInItsPlaceIsNotWrittenThrough) {
  fs::create_symlink(folder_ / "elsewhere", folder_ / "log");
  EXPECT_FALSE(RotatingFile(folder_ / "log", 100).append("line"));
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere"));
  fs::create_directory(folder_ / "folder");
  EXPECT_FALSE(RotatingFile(folder_ / "folder", 100).append("line"));
}

}  // namespace
}  // namespace berth::os
