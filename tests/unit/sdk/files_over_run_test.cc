// The fallback for files, over a run() that really runs a shell.
#include "berth/files_over_run.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "berth/testing/fake_host.hpp"
#include "tests/unit/sdk/sample_provider.h"

namespace berth::tests {
namespace {

class ShellProvider : public Sample {
 public:
  RunResult run(Operation& operation, std::string_view, const Command& command) override {
    int in[2];
    int out[2];
    if (::pipe(in) != 0 || ::pipe(out) != 0) throw std::runtime_error("pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
      std::vector<std::string> argv(command.argv.begin(), command.argv.end());
      std::vector<char*> pointers;
      for (std::string& argument : argv) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    std::thread feeder([&] {
      char buffer[4096];
      if (command.stdin_source == StdinSource::kInput)
        for (std::size_t got; (got = operation.input(buffer)) != 0;)
          if (::write(in[1], buffer, got) < 0) break;
      ::close(in[1]);
    });
    RunResult result;
    char buffer[4096];
    for (ssize_t got; (got = ::read(out[0], buffer, sizeof buffer)) > 0;) {
      operation.output(Stream::kStdout, {buffer, static_cast<std::size_t>(got)});
      result.stdout_bytes += static_cast<std::uint64_t>(got);
    }
    feeder.join();
    ::close(out[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    result.cause = WIFEXITED(status) ? Cause::kExited : Cause::kSignalled;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
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
    // A shell that ends early leaves a writer behind; its write has to fail, not to end the test.
    ::signal(SIGPIPE, SIG_IGN);
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
