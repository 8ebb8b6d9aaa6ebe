#include "core/plugin/keeper_connection.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/plugin/keeper_main.h"
#include "core/plugin/worker_events.h"

namespace berth::plugin {
namespace {

constexpr std::size_t kRequestInboxBytes = 65536;
// Longer than a host that lives is ever busy with something else.
constexpr timeval kSendPatience{10, 0};

}  // namespace

KeeperConnection::KeeperConnection(std::uint32_t number, os::Fd socket, Phase phase_)
    : phase(phase_), number_(number), socket_(std::move(socket)), inbox_(kRequestInboxBytes) {
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendPatience, sizeof kSendPatience);
}

bool KeeperConnection::receive() {
  if (begin_ > 0) {
    std::memmove(inbox_.data(), inbox_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // A frame larger than the buffer: its length was checked before.
  if (end_ == inbox_.size()) inbox_.resize(inbox_.size() * 2);
  ssize_t got = -1;
  do got = ::recv(socket_.get(), inbox_.data() + end_, inbox_.size() - end_, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
  end_ += static_cast<std::size_t>(got);
  return got > 0;
}

std::optional<std::string> KeeperConnection::take_greeting(bool* broken) {
  const std::string_view there(inbox_.data() + begin_, end_ - begin_);
  const std::size_t line = there.substr(0, kGreetingBytesMax).find('\n');
  if (line == std::string_view::npos) {
    *broken = there.size() >= kGreetingBytesMax;
    return std::nullopt;
  }
  begin_ += line + 1;
  return std::string(there.substr(0, line));
}

std::optional<Frame> KeeperConnection::take_frame(bool* broken) {
  std::size_t used = 0;
  const auto frame = next_frame({inbox_.data() + begin_, end_ - begin_}, used);
  *broken = !frame.has_value();
  if (!frame || !frame->has_value()) return std::nullopt;
  begin_ += used;
  return **frame;
}

void KeeperConnection::send(std::string_view first, std::string_view second) {
  const std::lock_guard lock(sending_);
  if (broken_ || send_frame(socket_.get(), first, second)) return;
  broken_ = true;
  // The loop finds its end and takes leave of it.
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void KeeperConnection::end_sending() {
  const std::lock_guard lock(sending_);
  ::shutdown(socket_.get(), SHUT_WR);
}

void KeeperConnection::close() {
  const std::lock_guard lock(sending_);
  broken_ = true;
  socket_.reset();
}

}  // namespace berth::plugin
