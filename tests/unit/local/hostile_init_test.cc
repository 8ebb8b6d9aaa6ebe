// The provider's side of a sandbox whose init is in the hands of an enemy: whatever it says or does not
// say, the provider ends in time, keeps its bounds, and kills it.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>

#include "helper/channel.h"
#include "process_handle.h"
#include "sandbox.h"

namespace berth::local {
namespace {

class HostileInit : public ::testing::Test {
 protected:
  HostileInit() {
    int raw[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0) std::abort();
    enemy_ = Fd(raw[1]);
    child_ = fork();
    if (child_ == 0) {
      for (;;) pause();
    }
    SandboxParts parts;
    parts.name = "hostile";
    parts.socket = Fd(raw[0]);
    parts.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, child_, 0)));
    parts.limits.memory_bytes = 1 << 30;
    sandbox_ = std::make_unique<Sandbox>(std::move(parts));
  }
  ~HostileInit() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  // Runs a command while `enemy` has the request and its descriptors.
  RunResult run_against(const std::function<void(Received&)>& enemy, Command command = {}) {
    std::thread other([&] {
      Received request;
      if (receive_message(enemy_.get(), &request, 0) == ReceiveResult::kMessage) enemy(request);
      close_received(&request);
    });
    command.argv = {"/bin/true"};
    CapturePeer peer;
    const RunResult result = sandbox_->run(peer, command);
    other.join();
    return result;
  }

  bool killed() const {
    pollfd watched{static_cast<int>(syscall(SYS_pidfd_open, child_, 0)), POLLIN, 0};
    const bool ended = poll(&watched, 1, 20'000) == 1;
    close(watched.fd);
    return ended;
  }

  Fd enemy_;
  pid_t child_ = -1;
  std::unique_ptr<Sandbox> sandbox_;
};

TEST_F(HostileInit, AnAnswerToAnotherRequestIsTheEnd) {
  const RunResult result = run_against([&](Received& request) {
    Ended ended{};
    ended.header = Header{Kind::kEnded, 0, request.header().id + 1};
    send_message(enemy_.get(), ended);
  });
  EXPECT_EQ(result.cause, Cause::kLost);
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_TRUE(killed());
}

TEST_F(HostileInit, AMessageOfAnotherKindOrLengthIsTheEnd) {
  const RunResult result = run_against([&](Received&) { send_message(enemy_.get(), Ready{}); });
  EXPECT_EQ(result.cause, Cause::kLost);
  EXPECT_TRUE(killed());
}

TEST_F(HostileInit, ADatagramTooLongIsTheEnd) {
  const RunResult result = run_against([&](Received&) {
    const std::string text(kMessageMaxBytes + 100, 'x');
    send_message(enemy_.get(), text.data(), text.size(), nullptr, 0, 0);
  });
  EXPECT_EQ(result.cause, Cause::kLost);
}

TEST_F(HostileInit, DescriptorsItSendsAreClosed) {
  Pipe smuggled = make_pipe();
  const RunResult result = run_against([&](Received& request) {
    Ended ended{};
    ended.header = Header{Kind::kEnded, 0, request.header().id};
    const int fds[] = {smuggled.write.get()};
    send_message(enemy_.get(), &ended, sizeof(ended), fds, 1, 0);
  });
  EXPECT_EQ(result.cause, Cause::kExited);
  smuggled.write.reset();
  pollfd watched{smuggled.read.get(), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 5'000), 1) << "the provider kept a copy";
  EXPECT_NE(watched.revents & POLLHUP, 0);
}

TEST_F(HostileInit, OneThatNeverAnswersIsKilledAtTheTimeLimit) {
  Command command;
  command.timeout = std::chrono::milliseconds(50);
  const RunResult result = run_against([](Received&) {}, command);
  EXPECT_EQ(result.cause, Cause::kWall);
  EXPECT_TRUE(killed());
}

TEST_F(HostileInit, OneThatKeepsTheStreamsOpenAfterItsAnswerIsNotWaitedForLong) {
  Received kept;
  const RunResult result = run_against([&](Received& request) {
    kept = request;
    request.fd_count = 0;
    Ended ended{};
    ended.header = Header{Kind::kEnded, 0, request.header().id};
    send_message(enemy_.get(), ended);
  });
  EXPECT_EQ(result.cause, Cause::kExited);
  close_received(&kept);
}

TEST_F(HostileInit, AFileLongerThanWasAllowedIsCutOff) {
  std::thread other([&] {
    Received request;
    if (receive_message(enemy_.get(), &request, 0) != ReceiveResult::kMessage) return;
    signal(SIGPIPE, SIG_IGN);
    const std::string piece(65536, 'x');
    for (int i = 0; i < 1000; ++i) {
      if (write_fully(request.fds[0], piece) != 0) break;
      Received order;
      if (receive_message(enemy_.get(), &order, MSG_DONTWAIT) == ReceiveResult::kMessage) break;
    }
    close_received(&request);
    Ended ended{};
    ended.header = Header{Kind::kEnded, 0, request.header().id};
    ended.size_bytes = 1000;
    send_message(enemy_.get(), ended);
  });
  CapturePeer peer;
  GetFile file;
  file.path = "/workspace/file";
  file.max_bytes = 1000;
  EXPECT_THROW(sandbox_->get_file(peer, file), Failure);
  other.join();
}

}  // namespace
}  // namespace berth::local
