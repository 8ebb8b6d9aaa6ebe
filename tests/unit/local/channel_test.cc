#include "helper/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fd.h"

namespace berth::local {
namespace {

class LocalChannel : public ::testing::Test {
 protected:
  LocalChannel() {
    int raw[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw) != 0) std::abort();
    near_ = Fd(raw[0]);
    far_ = Fd(raw[1]);
  }
  Fd near_;
  Fd far_;
};

TEST_F(LocalChannel, AMessageArrivesWithItsDescriptors) {
  const Pipe pipe = make_pipe();
  Kill kill{};
  kill.header = Header{Kind::kKill, 0, 7};
  const int fds[] = {pipe.read.get(), pipe.write.get()};
  ASSERT_EQ(send_message(near_.get(), &kill, sizeof(kill), fds, 2, 0), 0);
  Received message;
  ASSERT_EQ(receive_message(far_.get(), &message, 0), ReceiveResult::kMessage);
  ASSERT_NE(message.as<Kill>(Kind::kKill), nullptr);
  EXPECT_EQ(message.header().id, 7u);
  EXPECT_EQ(message.as<Ended>(Kind::kEnded), nullptr);
  ASSERT_EQ(message.fd_count, 2u);
  EXPECT_EQ(fcntl(message.fds[0], F_GETFD), FD_CLOEXEC);
  close_received(&message);
  EXPECT_EQ(message.fd_count, 0u);
}

TEST_F(LocalChannel, AKindWithTheSizeOfAnotherIsNeither) {
  Ended ended{};
  ended.header = Header{Kind::kKill, 0, 1};
  ASSERT_EQ(send_message(near_.get(), ended), 0);
  Received message;
  ASSERT_EQ(receive_message(far_.get(), &message, 0), ReceiveResult::kMessage);
  EXPECT_EQ(message.as<Kill>(Kind::kKill), nullptr);
  EXPECT_EQ(message.as<Ended>(Kind::kEnded), nullptr);
}

TEST_F(LocalChannel, WhatIsTooLongOrTooShortReadsAsTheEnd) {
  const std::string long_text(kMessageMaxBytes + 1, 'x');
  ASSERT_EQ(send_message(near_.get(), long_text.data(), long_text.size(), nullptr, 0, 0), 0);
  Received message;
  EXPECT_EQ(receive_message(far_.get(), &message, 0), ReceiveResult::kEnd);
  ASSERT_EQ(send_message(near_.get(), long_text.data(), sizeof(Header) - 1, nullptr, 0, 0), 0);
  EXPECT_EQ(receive_message(far_.get(), &message, 0), ReceiveResult::kEnd);
}

TEST_F(LocalChannel, NothingYetAndNobodyThereAreTold) {
  Received message;
  EXPECT_EQ(receive_message(far_.get(), &message, MSG_DONTWAIT), ReceiveResult::kAgain);
  near_.reset();
  EXPECT_EQ(receive_message(far_.get(), &message, MSG_DONTWAIT), ReceiveResult::kEnd);
  EXPECT_EQ(send_message(far_.get(), Kill{}), EPIPE) << "and no signal";
}

}  // namespace
}  // namespace berth::local
