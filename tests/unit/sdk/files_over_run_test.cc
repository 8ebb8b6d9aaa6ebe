// The fallback for files, over a run() that really runs a shell.
#include "berth/files_over_run.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "berth/child.hpp"
#include "berth/testing/fake_host.hpp"
#include "tests/unit/sdk/sample_provider.h"

namespace berth::tests {
namespace {

class ShellProvider : public Sample {
 public:
  RunResult run(Operation& operation, std::string_view, const Command& command) override {
    Child child;
    child.argv.assign(command.argv.begin(), command.argv.end());
    child.stdin_source = command.stdin_source;
    return run_child(operation, child);
  }
  void put_file(Operation& operation, std::string_view ref, const PutFile& spec) override {
    put_file_over_run(*this, operation, ref, spec);
  }
  GotFile get_file(Operation& operation, std::string_view ref, const GetFile& spec) override {
    return get_file_over_run(*this, operation, ref, spec);
  }
};

class FilesOverRun : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "berth-files-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_TRUE(host_.open().done());
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    for (const std::string& violation : host_.violations()) ADD_FAILURE() << violation;
  }
  std::string folder_;
  testing::FakeHost host_{&provider_entry<ShellProvider>};
};

TEST_F(FilesOverRun, AFileTravelsWholeWithItsMode) {
  std::string contents;
  for (int i = 0; i < 300'000; ++i) contents.push_back(static_cast<char>(i * 31));
  const std::string path = folder_ + "/deep/er/it's a file";
  const auto put = host_.put_file("ref", path, contents, 0640);
  ASSERT_TRUE(put.done()) << put.message;
  const auto got = host_.get_file("ref", path);
  ASSERT_TRUE(got.done()) << got.message;
  EXPECT_EQ(got.file, contents);
  EXPECT_EQ(got.get<GotFile>().mode, 0640u);
  EXPECT_EQ(got.get<GotFile>().size_bytes, contents.size());
}

TEST_F(FilesOverRun, AnEmptyFileIsAFile) {
  ASSERT_TRUE(host_.put_file("ref", folder_ + "/empty", "").done());
  const auto got = host_.get_file("ref", folder_ + "/empty");
  EXPECT_TRUE(got.done()) << got.message;
  EXPECT_EQ(got.file, "");
}

TEST_F(FilesOverRun, WhatIsMissingTooLargeOrNoFileIsRejected) {
  ASSERT_TRUE(host_.put_file("ref", folder_ + "/a", "12345").done());
  EXPECT_EQ(host_.get_file("ref", folder_ + "/b").code, Code::kNotFound);
  EXPECT_EQ(host_.get_file("ref", folder_ + "/a", 4).code, Code::kQuota);
  EXPECT_EQ(host_.get_file("ref", folder_).code, Code::kInvalidArgument);
}

TEST_F(FilesOverRun, NothingIsLeftWhenAFileCannotBePut) {
  std::filesystem::create_directory(folder_ + "/taken");
  ASSERT_TRUE(host_.put_file("ref", folder_ + "/taken/x", "1").done());
  const auto refused = host_.put_file("ref", folder_ + "/taken/x/y", "2");
  EXPECT_EQ(refused.outcome_class, OutcomeClass::kUncertain);
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    ++entries;
  EXPECT_EQ(entries, 2u);
}

}  // namespace
}  // namespace berth::tests
