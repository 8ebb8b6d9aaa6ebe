#include "core/os/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "core/base/ids.h"
#include "gtest/gtest.h"

namespace berth::os {
namespace {

bool is_open(int raw) { return ::fcntl(raw, F_GETFD) >= 0; }

class FdTest : public testing::Test {
 protected:
  FdTest() { std::filesystem::create_directory(folder_); }
  ~FdTest() override { std::filesystem::remove_all(folder_); }

  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++count;
    return count;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("berth-fd-test-" + random_hex(8));
};

TEST_F(FdTest, TheOwnerClosesAndMovingHandsOver) {
  int raw = -1;
  {
    Fd first = open_file("/dev/null", O_RDONLY).value();
    raw = first.get();
    Fd second = std::move(first);
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(second.get(), raw);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST_F(FdTest, AssignmentClosesWhatWasOwned) {
  Fd one = open_file("/dev/null", O_RDONLY).value();
  const int old = one.get();
  Fd two = open_file("/dev/null", O_RDONLY).value();
  const int kept = two.get();
  one = std::move(two);
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(kept));
  EXPECT_EQ(one.release(), kept);
  EXPECT_TRUE(is_open(kept));
  Fd again(kept);
}

TEST_F(FdTest, DescriptorsDoNotLeakIntoChildren) {
  const Fd fd = open_file("/dev/null", O_RDONLY).value();
  EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  const Fd memory = sealed_memfd("x", "x").value();
  EXPECT_NE(::fcntl(memory.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(FdTest, AMissingFileIsNamed) {
  const auto fd = open_file(folder_ / "absent", O_RDONLY);
  ASSERT_FALSE(fd.has_value());
  EXPECT_EQ(fd.error().kind(), ErrorKind::kNotFound);
  EXPECT_NE(fd.error().message().find((folder_ / "absent").string()), std::string::npos);
}

TEST_F(FdTest, ReadingIsBounded) {
  ASSERT_TRUE(replace_file(folder_ / "a", std::string(1000, 'a'), 0600).has_value());
  EXPECT_EQ(read_file(folder_ / "a", 1000).value(), std::string(1000, 'a'));
  const auto over = read_file(folder_ / "a", 999);
  ASSERT_FALSE(over.has_value());
  EXPECT_EQ(over.error().kind(), ErrorKind::kLimit);
  EXPECT_NE(over.error().message().find("999"), std::string::npos);
}

TEST_F(FdTest, AnEndlessSourceEndsAtTheBound) {
  const auto zero = read_file("/dev/zero", 1 << 20);
  ASSERT_FALSE(zero.has_value());
  EXPECT_EQ(zero.error().kind(), ErrorKind::kLimit);
}

TEST_F(FdTest, MoreThanAPipeHoldsIsWrittenWhole) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const std::string sent(1 << 20, 'p');
  Status written;
  std::thread thread([&] {
    written = write_all(writer.get(), sent);
    writer.reset();
  });
  const auto got = read_all(reader.get(), sent.size(), "the pipe");
  thread.join();
  EXPECT_TRUE(written.has_value());
  EXPECT_EQ(got.value(), sent);
}

TEST_F(FdTest, AFailedWriteIsAnError) {
  const Fd full = open_file("/dev/full", O_WRONLY).value();
  EXPECT_FALSE(write_all(full.get(), "x").has_value());
}

TEST_F(FdTest, ReplacingAFileLeavesOneFileWithTheMode) {
  const auto path = folder_ / "state";
  ASSERT_TRUE(replace_file(path, "one", 0600).has_value());
  ASSERT_TRUE(replace_file(path, "two", 0600).has_value());
  EXPECT_EQ(read_file(path, 100).value(), "two");
  EXPECT_EQ(files(), 1u);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(FdTest, AReplacementThatFailsLeavesTheOldFileAndNothingElse) {
  std::filesystem::create_directory(folder_ / "taken");
  EXPECT_FALSE(replace_file(folder_ / "taken", "x", 0600).has_value());
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "taken"));
  EXPECT_EQ(files(), 1u);
  EXPECT_FALSE(replace_file(folder_ / "absent" / "x", "x", 0600).has_value());
}

TEST_F(FdTest, AReplacementThatFailsNamesTheFileThatWasToBeReplaced) {
  const std::string path = (folder_ / "absent" / "x").string();
  const Status failed = replace_file(path, "x", 0600);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message(), "cannot write " + path + ": No such file or directory");
}

TEST_F(FdTest, ASealedMemoryFileCannotBeChanged) {
  const Fd fd = sealed_memfd("plugin", "bytes").value();
  EXPECT_LT(::pwrite(fd.get(), "x", 1, 0), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(::ftruncate(fd.get(), 1), 0);
  EXPECT_NE(::ftruncate(fd.get(), 100), 0);
  EXPECT_NE(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  EXPECT_EQ(::mmap(nullptr, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0), MAP_FAILED);
  char text[6] = {};
  EXPECT_EQ(::pread(fd.get(), text, 5, 0), 5);
  EXPECT_STREQ(text, "bytes");
}

TEST_F(FdTest, ASealedCopyIsWholeAndCannotBeChanged) {
  std::string bytes;
  for (int i = 0; bytes.size() < 200'000; ++i) bytes += std::to_string(i);
  ASSERT_TRUE(replace_file(folder_ / "whole", bytes, 0600).has_value());
  const Fd file = open_file(folder_ / "whole", O_RDONLY).value();
  const Fd copy = sealed_copy("plugin", file.get(), bytes.size(), "the file").value();
  std::string read(bytes.size() + 1, '\0');
  ASSERT_EQ(::pread(copy.get(), read.data(), read.size(), 0), static_cast<ssize_t>(bytes.size()));
  read.pop_back();
  EXPECT_EQ(read, bytes);
  EXPECT_LT(::pwrite(copy.get(), "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(copy.get(), 1), 0);
}

TEST_F(FdTest, ASealedCopyOfMoreThanItMayReadIsAnErrorThatNamesTheSource) {
  const Fd zero = open_file("/dev/zero", O_RDONLY).value();
  const auto copy = sealed_copy("plugin", zero.get(), 1 << 20, "the source");
  ASSERT_FALSE(copy.has_value());
  EXPECT_EQ(copy.error().kind(), ErrorKind::kLimit);
  EXPECT_EQ(copy.error().message(), "the source has more than the 1048576 bytes that are read of it");
}

}  // namespace
}  // namespace berth::os
