#include "core/host/state_dir.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/store/support.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

mode_t mode_of(const std::filesystem::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(StateDir, IsMadeForThisUserAlone) {
  const test::Folder folder;
  ASSERT_TRUE(prepare_state_dir(folder / "made/on/the/way", ""));
  EXPECT_EQ(mode_of(folder / "made/on/the/way"), 0700u);
}

TEST(StateDir, OneThatStandsIsTakenAsItIs) {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "mine");
  ASSERT_EQ(::chmod((folder / "mine").c_str(), 0755), 0);
  ASSERT_TRUE(prepare_state_dir(folder / "mine", ""));
  EXPECT_EQ(mode_of(folder / "mine"), 0755u);
}

TEST(StateDir, OneThatOthersCanWriteIsRefused) {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "shared");
  for (const mode_t mode : {0720, 0702, 0777}) {
    ASSERT_EQ(::chmod((folder / "shared").c_str(), mode), 0);
    const Status status = prepare_state_dir(folder / "shared", "--state-dir");
    ASSERT_FALSE(status) << mode;
    EXPECT_EQ(status.error().kind(), ErrorKind::kRefused);
    EXPECT_THAT(status.error().message(), HasSubstr("chmod 700"));
  }
}

TEST(StateDir, AFileInItsPlaceIsAnErrorThatNamesIt) {
  const test::Folder folder;
  std::ofstream(folder / "file") << "text";
  const Status status = prepare_state_dir(folder / "file", "");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr((folder / "file").string()));
}

TEST(StateDir, OneOfAnotherUserIsRefusedWithTheOptionThatNamesAnother) {
  if (::geteuid() == 0) {
    const test::Folder folder;
    std::filesystem::create_directory(folder / "theirs");
    ASSERT_EQ(::chown((folder / "theirs").c_str(), 12345, 12345), 0);
    const Status status = prepare_state_dir(folder / "theirs", "--state-dir");
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("choose another with --state-dir"));
    return;
  }
  const Status status = prepare_state_dir("/", "--state-dir");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("choose another with --state-dir"));
}

}  // namespace
}  // namespace berth
