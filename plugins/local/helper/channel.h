// Sending and receiving one message with descriptors, without allocation.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_CHANNEL_H_
#define BERTH_PLUGINS_LOCAL_HELPER_CHANNEL_H_

#include <cstddef>

#include "wire.h"

namespace berth::local {

inline constexpr std::size_t kFdsMax = 16;

struct Received {
  alignas(8) unsigned char bytes[kMessageMaxBytes];
  std::size_t size = 0;
  int fds[kFdsMax];
  std::size_t fd_count = 0;

  const Header& header() const { return *reinterpret_cast<const Header*>(bytes); }

  // The message as T when it is one whole T of this kind, else nullptr.
  template <typename T>
  const T* as(Kind kind) const {
    if (size != sizeof(T) || header().kind != kind) return nullptr;
    return reinterpret_cast<const T*>(bytes);
  }
};

enum class ReceiveResult { kMessage, kAgain, kEnd };

// Takes the next message. Descriptors arrive close-on-exec and belong to the caller. A datagram that
// is too short, too long or carries too many descriptors reads as the end: the peer is broken.
ReceiveResult receive_message(int socket, Received* into, int flags);

// 0, or an errno. Never raises SIGPIPE.
int send_message(int socket, const void* bytes, std::size_t size, const int* fds,
                 std::size_t fd_count, int flags);

template <typename T>
int send_message(int socket, const T& message, int flags = 0) {
  return send_message(socket, &message, sizeof(T), nullptr, 0, flags);
}

void close_received(Received* message);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_CHANNEL_H_
