// Whole files into and out of real sandboxes.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "machine.h"

namespace berth::local {
namespace {

void put(Sandbox& sandbox, std::string_view path, std::string contents, std::uint32_t mode = 0644) {
  TestPeer peer;
  PutFile file;
  file.path = path;
  file.mode = mode;
  file.size_bytes = contents.size();
  peer.to_read = std::move(contents);
  sandbox.put_file(peer, file);
}

std::string get(Sandbox& sandbox, std::string_view path, std::uint64_t max_bytes = 1u << 30) {
  TestPeer peer;
  GetFile file;
  file.path = path;
  file.max_bytes = max_bytes;
  const GotFile got = sandbox.get_file(peer, file);
  EXPECT_EQ(got.size_bytes, peer.file.size());
  return peer.file;
}

std::string bytes(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  return text;
}

TEST(Files, TravelWholeInBothDirections) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65'536}, std::size_t{5'000'001}}) {
    const std::string contents = bytes(size);
    put(*sandbox, "/workspace/deep/er/file", contents);
    EXPECT_EQ(get(*sandbox, "/workspace/deep/er/file"), contents) << size;
  }
  put(*sandbox, "/tmp/program", "#!/bin/sh\necho ran\n", 0755);
  EXPECT_EQ(run(*sandbox, {"/tmp/program"}).out, "ran\n");
  EXPECT_EQ(shell(*sandbox, "stat -c %a /tmp/program /workspace/deep/er/file; id -u; stat -c %u /tmp/program").out,
            "755\n644\n1000\n1000\n");
}

TEST(Files, AMissingOneAndOneTooLargeAreRefusedByCode) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const auto missing = failure_of([&] { get(*sandbox, "/workspace/none"); });
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->outcome_class(), OutcomeClass::kRejected);
  EXPECT_EQ(missing->code(), Code::kNotFound);
  put(*sandbox, "/workspace/large", bytes(100'000));
  TestPeer peer;
  GetFile file;
  file.path = "/workspace/large";
  file.max_bytes = 99'999;
  const auto large = failure_of([&] { sandbox->get_file(peer, file); });
  ASSERT_TRUE(large);
  EXPECT_EQ(large->code(), Code::kQuota);
  EXPECT_TRUE(peer.file.empty()) << "before any byte";
}

TEST(Files, NothingButARegularFileIsRead) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  shell(*sandbox, "ln -s /etc/passwd link; mkfifo pipe; mkdir folder; ln -s /proc/1/root escape");
  for (const char* path : {"/workspace/link", "/workspace/pipe", "/workspace/folder",
                           "/workspace/escape/etc/shadow", "/proc/self/fd/0", "/dev/zero", "relative", ""}) {
    const auto failure = failure_of([&] { get(*sandbox, path); });
    ASSERT_TRUE(failure) << path;
    EXPECT_EQ(failure->outcome_class(), OutcomeClass::kRejected) << path;
  }
}

TEST(Files, AWriteStaysInsideWhateverLinksSay) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  const std::string outside = machine.state_dir() + "/outside";
  shell(*sandbox, "ln -s " + outside + " target; mkdir d; ln -s ../../../../../.." + machine.state_dir() + " d/up");
  put(*sandbox, "/workspace/target", "x");
  EXPECT_EQ(shell(*sandbox, "test -L target || cat target").out, "x") << "the link was replaced, not followed";
  const auto refused = failure_of([&] { put(*sandbox, "/workspace/d/up/outside", "x"); });
  EXPECT_TRUE(refused) << "that folder does not exist in there";
  EXPECT_FALSE(std::ifstream(outside).good());
  for (const char* path : {"/usr/x", "/etc/passwd", "/x"}) {
    EXPECT_TRUE(failure_of([&] { put(*sandbox, path, "x"); })) << path;
  }
}

TEST(Files, AFolderMayBeALinkInsideAndAFileNever) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  shell(*sandbox, "mkdir real; ln -s real near; ln -s /proc/self/root far; ln -s /tmp/made made");
  put(*sandbox, "/workspace/near/deep/file", "x");
  put(*sandbox, "/var/tmp/file", "y");
  EXPECT_EQ(shell(*sandbox, "cat real/deep/file /tmp/file").out, "xy");
  EXPECT_EQ(get(*sandbox, "/workspace/near/deep/file"), "x");
  for (const char* path : {"/workspace/far/tmp/made/file", "/workspace/far/tmp/file", "/workspace/made/file"}) {
    EXPECT_TRUE(failure_of([&] { put(*sandbox, path, "x"); })) << path;
  }
  EXPECT_EQ(shell(*sandbox, "ls /tmp").out, "file\n") << "no folder is made through a link that leads nowhere";
}

TEST(Files, AHardLinkIsAFileAndADeviceIsNone) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  shell(*sandbox, "echo -n one > one; ln one two; mkfifo pipe");
  EXPECT_EQ(get(*sandbox, "/workspace/two"), "one");
  put(*sandbox, "/workspace/two", "new");
  EXPECT_EQ(get(*sandbox, "/workspace/one"), "one") << "the name was replaced, not the file behind it";
  put(*sandbox, "/workspace/pipe", "now a file");
  EXPECT_EQ(get(*sandbox, "/workspace/pipe"), "now a file");
  for (const char* path : {"/dev/null", "/dev/full", "/proc/version", "/workspace"}) {
    EXPECT_TRUE(failure_of([&] { put(*sandbox, path, "x"); })) << path;
  }
  EXPECT_EQ(shell(*sandbox, "echo x > /dev/null && echo fine").out, "fine\n");
}

TEST(Files, NoProgramRunsWhileAFileMoves) {
  Machine machine;
  const auto sandbox = machine.sandbox();
  std::atomic<bool> begun{false};
  std::thread swapper([&] {
    begun = true;
    python(*sandbox,
           "import os, time\n"
           "os.mkdir('folder'); os.mkdir('other'); os.symlink('/etc', 'link')\n"
           "end = time.monotonic() + 0.3\n"
           "while time.monotonic() < end:\n"
           "  os.rename('folder', 'kept'); os.rename('link', 'folder')\n"
           "  os.rename('folder', 'link'); os.rename('kept', 'folder')\n");
  });
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  for (int i = 0; i < 20; ++i) {
    failure_of([&] { put(*sandbox, "/workspace/folder/file", "x"); });
    const auto failure = failure_of([&] { EXPECT_EQ(get(*sandbox, "/workspace/folder/passwd"), "none"); });
    EXPECT_TRUE(failure) << "a file of /etc was read through the swapped folder";
  }
  swapper.join();
  EXPECT_EQ(shell(*sandbox, "cat folder/file").out, "x");
}

TEST(Files, AWriteIsWholeOrNotAtAll) {
  Config config = default_config();
  config.limits.disk_bytes = 4u << 20;
  Machine machine(config);
  const auto sandbox = machine.sandbox();
  put(*sandbox, "/workspace/file", "first");
  const auto full = failure_of([&] { put(*sandbox, "/workspace/file", bytes(8u << 20)); });
  ASSERT_TRUE(full);
  EXPECT_EQ(full->outcome_class(), OutcomeClass::kFailedClean);
  EXPECT_EQ(full->code(), Code::kQuota);
  for (const std::uint64_t announced : {3u, 9u}) {
    TestPeer peer;
    peer.to_read = "second";
    PutFile file;
    file.path = "/workspace/file";
    file.size_bytes = announced;
    const auto wrong = failure_of([&] { sandbox->put_file(peer, file); });
    ASSERT_TRUE(wrong) << announced;
    EXPECT_EQ(wrong->outcome_class(), OutcomeClass::kFailedClean);
  }
  EXPECT_EQ(get(*sandbox, "/workspace/file"), "first");
  EXPECT_EQ(shell(*sandbox, "ls -A").out, "file\n") << "nothing beside it";
}

}  // namespace
}  // namespace berth::local
