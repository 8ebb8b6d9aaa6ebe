#include "core/execution/install/wheel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "core/os/fd.h"
#include "tests/unit/execution/process_sandbox.h"

namespace berth::install {
namespace {

namespace fs = std::filesystem;

std::string keep(const WheelCache& cache, const std::string& bytes) {
  const std::string digest = sha256_hex(bytes);
  auto entry = cache.begin();
  EXPECT_NE(entry, nullptr);
  entry->append(bytes);
  cache.commit(std::move(entry), digest);
  return digest;
}

std::size_t count(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Used so many hours ago.
void age(const fs::path& file, int hours) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST(WheelCache, GivesBackWhatItKept) {
  const test::TemporaryFolder folder;
  const WheelCache cache(folder.path() / "c", 1000);
  const std::string digest = keep(cache, "some bytes");
  const os::Fd file = cache.open(digest);
  ASSERT_TRUE(file.valid());
  EXPECT_EQ(os::read_all(file.get(), 100, "kept").value(), "some bytes");
  struct stat info {};
  ASSERT_EQ(stat((folder.path() / "c").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

TEST(WheelCache, KeepsNothingUnderAnotherDigest) {
  const test::TemporaryFolder folder;
  const WheelCache cache(folder.path(), 1000);
  auto entry = cache.begin();
  entry->append("some bytes");
  cache.commit(std::move(entry), sha256_hex("other bytes"));
  EXPECT_EQ(count(folder.path()), 0u);
  EXPECT_FALSE(cache.open(sha256_hex("other bytes")).valid());
}

TEST(WheelCache, WhatIsNotCommittedLeavesNothing) {
  const test::TemporaryFolder folder;
  const WheelCache cache(folder.path(), 1000);
  cache.begin()->append("half");
  EXPECT_EQ(count(folder.path()), 0u);
}

TEST(WheelCache, TheLeastRecentlyUsedMakesRoom) {
  const test::TemporaryFolder folder;
  const WheelCache cache(folder.path(), 250);
  const std::string first = keep(cache, std::string(100, 'a'));
  const std::string second = keep(cache, std::string(100, 'b'));
  age(folder.path() / first, 3);
  age(folder.path() / second, 2);
  ASSERT_TRUE(cache.open(first).valid());  // a use
  const std::string third = keep(cache, std::string(100, 'c'));
  EXPECT_TRUE(cache.open(first).valid());
  EXPECT_FALSE(cache.open(second).valid());
  EXPECT_TRUE(cache.open(third).valid());
}

TEST(WheelCache, AFileThatIsTooLargeIsNotKept) {
  const test::TemporaryFolder folder;
  const WheelCache cache(folder.path(), 10);
  keep(cache, std::string(11, 'a'));
  EXPECT_EQ(count(folder.path()), 0u);
}

TEST(WheelCache, WhatADeadProcessLeftIsRemovedInTime) {
  const test::TemporaryFolder folder;
  const WheelCache cache(folder.path(), 1000);
  std::ofstream(folder.path() / "part-old") << "x";
  std::ofstream(folder.path() / "part-new") << "x";
  age(folder.path() / "part-old", 24);
  keep(cache, "bytes");
  EXPECT_FALSE(fs::exists(folder.path() / "part-old"));
  EXPECT_TRUE(fs::exists(folder.path() / "part-new"));
}

TEST(WheelCache, LinksAndOtherNamesAreNotFollowed) {
  const test::TemporaryFolder folder;
  const WheelCache cache(folder.path(), 1000);
  const std::string digest = sha256_hex("x");
  fs::create_symlink("/etc/passwd", folder.path() / digest);
  EXPECT_FALSE(cache.open(digest).valid());
  EXPECT_FALSE(cache.open("../../etc/passwd").valid());
  EXPECT_EQ(WheelCache("", 1000).begin(), nullptr);
}

}  // namespace
}  // namespace berth::install
