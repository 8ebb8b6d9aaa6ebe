#include "core/plugin/worker_main.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/base/halt_poll.h"
#include "core/plugin/keeper_main.h"
#include "core/plugin/process_end.h"
#include "core/plugin/worker_events.h"

namespace berth::plugin {
namespace {

// Sends what the provider does. Blocking: the host always reads, and output is bounded by credit.
class Sender final : public FrameEvents {
 public:
  void send(std::string_view frame) { send(0, frame, {}); }

 protected:
  void send(OpId, std::string_view first, std::string_view second) override {
    const std::lock_guard lock(mutex_);
    // Only a host that is gone takes nothing.
    if (!send_frame(kWorkerSocket, first, second)) leave(kExitOrderly);
  }

 private:
  std::mutex mutex_;
};

// Frames from the host, as they come.
class Receiver {
 public:
  Receiver() : buffer_(262144) {}

  // Waits for a frame; leaves when the host is gone. The payload lasts until the next call.
  Frame next() {
    for (;;) {
      std::size_t used = 0;
      const auto frame = next_frame({buffer_.data() + begin_, end_ - begin_}, used);
      if (!frame) leave(kExitProtocol);
      if (frame->has_value()) {
        begin_ += used;
        return **frame;
      }
      fill();
    }
  }

 private:
  void fill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);  // bounded by the frame's bound
    ssize_t got = -1;
    const bool soon = patience_.ready_soon([&] { return (got = receive(MSG_DONTWAIT)) >= 0; });
    if (!soon) {
      got = receive(0);
      patience_.slept();
    }
    if (got <= 0) leave(kExitOrderly);
    end_ += static_cast<std::size_t>(got);
  }

  // -1: nothing there yet (with MSG_DONTWAIT), or a broken socket, which the next call tells.
  ssize_t receive(int flags) {
    ssize_t got = -1;
    do got = ::recv(kWorkerSocket, buffer_.data() + end_, buffer_.size() - end_, flags);
    while (got < 0 && errno == EINTR);
    return got;
  }

  HaltPoll patience_;

  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class Worker {
 public:
  [[noreturn]] void run() {
    const Frame first = receiver_.next();
    if (first.type != FrameType::kHello) leave(kExitProtocol);
    const auto hello = decode_hello(first.payload);
    if (!hello) refuse({{registry::Severity::kRefusal, "NEG-005", "", hello.error().message(),
                         "install host and worker from the same build"}});
    load(*hello);
    for (;;) handle(receiver_.next());
  }

 private:
  [[noreturn]] void refuse(const registry::Findings& findings) {
    sender_.send(encode_findings(FrameType::kRefused, findings));
    // The host closes the socket once it has read this.
    for (;;) receiver_.next();
  }

  void load(const Hello& hello) {
    // Never destroyed: the provider may call its host's table for as long as the process lives.
    driver_ = make_driver(sender_, hello).release();
    registry::Findings findings;
    const auto on_step = [this](std::string_view step) {
      WireWriter out(FrameType::kStep, 0);
      out.text(step);
      sender_.send(out.take());
    };
    if (!bind_library(kWorkerLibrary, *driver_, hello, on_step, findings)) refuse(findings);
    sender_.send(encode_findings(FrameType::kLoaded, findings));
  }

  void handle(const Frame& frame) {
    if (frame.type == FrameType::kStart) return start(frame);
    if (!steer(*driver_, frame.op, frame)) leave(kExitProtocol);
  }

  void start(const Frame& frame) {
    auto request = decode_start(frame.payload);
    if (!request) leave(kExitProtocol);
    sender_.begin(frame.op, request->slot);
    driver_->start(frame.op, std::move(*request));
  }

  Sender sender_;
  Receiver receiver_;
  TableDriver* driver_ = nullptr;
};

}  // namespace

int serve_as_worker(int argc, char** argv) {
  const bool keeps = argc > 1 && std::string_view(argv[1]) == kKeepArgument;
  struct stat info {};
  if (::fstat(kWorkerSocket, &info) != 0 || !S_ISSOCK(info.st_mode) ||
      ::fstat(kWorkerLibrary, &info) != 0 || !S_ISREG(info.st_mode)) {
    std::fputs("berth-worker is started by berth with a socket and a provider; it does nothing by "
               "itself\n",
               stderr);
    return 2;
  }
  ::fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  ::fcntl(kWorkerLibrary, F_SETFD, FD_CLOEXEC);
  if (keeps) return serve_as_keeper(argc, argv);
  // The host's death ends this process even while a slot of the provider does not return. The socket
  // says the same, should the host have died before this took effect.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What a provider prints reaches the host line by line, and is not lost when it crashes.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  auto* worker = new Worker;
  worker->run();
}

}  // namespace berth::plugin
