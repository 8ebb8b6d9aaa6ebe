#include "helper/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::local {

ReceiveResult receive_message(int socket, Received* into, int flags) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kFdsMax)];
  iovec part{into->bytes, sizeof(into->bytes)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  into->size = 0;
  into->fd_count = 0;
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? ReceiveResult::kAgain : ReceiveResult::kEnd;
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr;
       item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
      if (into->fd_count < kFdsMax) {
        into->fds[into->fd_count++] = fd;
      } else {
        close(fd);
      }
    }
  }
  const bool broken = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
                      static_cast<std::size_t>(got) < sizeof(Header);
  if (broken) {
    close_received(into);
    return ReceiveResult::kEnd;
  }
  into->size = static_cast<std::size_t>(got);
  return ReceiveResult::kMessage;
}

int send_message(int socket, const void* bytes, std::size_t size, const int* fds,
                 std::size_t fd_count, int flags) {
  if (fd_count > kFdsMax) return EINVAL;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kFdsMax)];
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd_count > 0) {
    std::memset(control, 0, sizeof(control));
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
    cmsghdr* item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
    std::memcpy(CMSG_DATA(item), fds, sizeof(int) * fd_count);
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

void close_received(Received* message) {
  for (std::size_t i = 0; i < message->fd_count; ++i) close(message->fds[i]);
  message->fd_count = 0;
}

}  // namespace berth::local
