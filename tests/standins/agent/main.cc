// The agent: what a stand-in runs inside each sandbox, as the services run a daemon in theirs. Commands,
// shells and files of the sandbox, any number at once, by frames over its standard streams (wire.h). It
// ends with its standard input, and the sandbox ends what it started.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/standins/agent/agent.h"

namespace berth::standins::agent {

void send(wire::Kind kind, std::uint32_t id, std::string_view payload) {
  const std::string text = wire::frame(kind, id, payload);
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = write(1, text.data() + at, text.size() - at);
    if (count > 0) {
      at += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd out{1, POLLOUT, 0};
      poll(&out, 1, -1);
    } else if (errno != EINTR) {
      _exit(1);
    }
  }
}

void send_done(std::uint32_t id, int error) {
  send(wire::Kind::kDone, id, wire::Packer().u32(static_cast<std::uint32_t>(error)).text());
}

namespace {

class Agent {
 public:
  int serve() {
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    const int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) return 1;
    fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
    send(wire::Kind::kReady, 0, {});
    std::vector<pollfd> watched;
    while (true) {
      watched.assign({{0, POLLIN, 0}, {signals, POLLIN, 0}});
      processes_.watch(&watched);
      if (poll(watched.data(), watched.size(), -1) < 0) {
        if (errno == EINTR) continue;
        return 1;
      }
      // Output before ends: a process' last words are sent before its end is.
      for (std::size_t i = 2; i < watched.size(); ++i) {
        if (watched[i].revents != 0) processes_.ready(watched[i].fd, watched[i].revents);
      }
      if (watched[1].revents != 0) {
        signalfd_siginfo ignored;
        while (read(signals, &ignored, sizeof(ignored)) > 0) {
        }
        processes_.reap();
      }
      if (watched[0].revents != 0 && !take_input()) return 0;
    }
  }

 private:
  bool take_input() {
    char piece[65536];
    const ssize_t count = read(0, piece, sizeof(piece));
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    inbox_.append(piece, static_cast<std::size_t>(count));
    std::size_t at = 0;
    wire::Kind kind{};
    std::uint32_t id = 0;
    std::string_view payload;
    while (wire::take_frame(inbox_, &at, &kind, &id, &payload)) dispatch(kind, id, payload);
    inbox_.erase(0, at);
    return true;
  }

  void dispatch(wire::Kind kind, std::uint32_t id, std::string_view payload) {
    switch (kind) {
      case wire::Kind::kStart: return processes_.start(id, payload);
      case wire::Kind::kExec: return processes_.exec(id, payload);
      case wire::Kind::kSignal:
        return processes_.signal(id, static_cast<int>(wire::Unpacker(payload).u32()));
      case wire::Kind::kEndTree: return processes_.end_tree(id);
      case wire::Kind::kEndAll: return processes_.end_all(id);
      case wire::Kind::kInput:
        if (!files_.input(id, payload)) processes_.input(id, payload);
        return;
      default:
        if (!files_.take(kind, id, payload)) send_done(id, ENOSYS);
    }
  }

  Files files_;
  Processes processes_;
  std::string inbox_;
};

}  // namespace
}  // namespace berth::standins::agent

int main(int, char** argv) {
  // Nothing of the agent is left among the files of the sandbox.
  unlink(argv[0]);
  umask(022);
  return berth::standins::agent::Agent().serve();
}
