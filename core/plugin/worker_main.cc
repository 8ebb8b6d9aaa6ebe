#include "core/plugin/worker_main.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/base/halt_poll.h"
#include "core/os/fd.h"
#include "core/plugin/binding.h"
#include "core/plugin/table_driver.h"
#include "core/plugin/wire.h"

namespace berth::plugin {
namespace {

constexpr int kExitOrderly = 0;
constexpr int kExitProtocol = 70;

// Ends at once: static destructors belong to a provider whose threads may still run.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

// Sends what the provider does. Blocking: the host always reads, and output is bounded by credit.
class Sender final : public DriverEvents {
 public:
  void stage(OpId op, std::string_view stage) override {
    WireWriter out(FrameType::kStage, op);
    out.text(stage);
    send(out.take());
  }
  void output(OpId op, Stream stream, std::string_view bytes) override {
    const auto header = frame_header(FrameType::kOutput, op, bytes.size() + 1);
    char start[kFrameHeaderBytes + 1];
    std::memcpy(start, header.data(), header.size());
    start[kFrameHeaderBytes] = static_cast<char>(stream);
    send({start, sizeof start}, bytes);
  }
  void input_taken(OpId op, std::uint64_t bytes) override {
    WireWriter out(FrameType::kInputTaken, op);
    out.number(bytes);
    send(out.take());
  }
  void completed(OpId op, Reply reply) override {
    Slot slot = Slot::kProbe;
    {
      const std::lock_guard lock(slots_mutex_);
      const auto found = slots_.find(op);
      if (found == slots_.end()) return;
      slot = found->second;
      slots_.erase(found);
    }
    send(encode_reply(op, slot, reply));
  }
  void log(std::uint32_t level, std::string_view line) override {
    WireWriter out(FrameType::kLog, 0);
    out.number(static_cast<std::uint8_t>(level));
    out.text(line);
    send(out.take());
  }
  void violation(const Violation& violation) override {
    WireWriter out(FrameType::kViolation, 0);
    out.text(violation.clause);
    out.text(bounded_message(violation.text));
    send(out.take());
  }

  void begin(OpId op, Slot slot) {
    const std::lock_guard lock(slots_mutex_);
    slots_[op] = slot;
  }
  void send(std::string_view frame) { send(frame, {}); }

 private:
  void send(std::string_view first, std::string_view second) {
    const std::lock_guard lock(mutex_);
    while (!first.empty() || !second.empty()) {
      iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                        {const_cast<char*>(second.data()), second.size()}};
      msghdr message{};
      message.msg_iov = first.empty() ? parts + 1 : parts;
      message.msg_iovlen = first.empty() || second.empty() ? 1 : 2;
      const ssize_t sent = ::sendmsg(kWorkerSocket, &message, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) leave(kExitOrderly);  // the host is gone
      auto left = static_cast<std::size_t>(sent);
      const std::size_t of_first = std::min(left, first.size());
      first.remove_prefix(of_first);
      left -= of_first;
      second.remove_prefix(left);
    }
  }

  std::mutex mutex_;
  std::mutex slots_mutex_;
  std::unordered_map<OpId, Slot> slots_;
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
    DriverSettings settings;
    settings.config_json = hello.config_json;
    settings.declared = hello.variables;
    settings.threads_max = hello.concurrency;
    for (const std::string& name : hello.variables)
      if (const char* value = std::getenv(name.c_str())) settings.variables.emplace(name, value);
    // Never destroyed: the provider may call its host's table for as long as the process lives.
    driver_ = new TableDriver(sender_, std::move(settings));
    Claims claims;
    claims.extensions = hello.extensions;
    claims.fences = hello.fences;
    claims.concurrency = hello.concurrency;
    Binding binding;
    registry::Findings findings;
    const auto on_step = [this](std::string_view step) {
      WireWriter out(FrameType::kStep, 0);
      out.text(step);
      sender_.send(out.take());
    };
    if (!bind(kWorkerLibrary, driver_->host(), claims, on_step, binding, findings)) {
      std::fflush(nullptr);
      refuse(findings);
    }
    std::fflush(nullptr);
    driver_->set_binding(std::move(binding));
    sender_.send(encode_findings(FrameType::kLoaded, findings));
  }

  void handle(const Frame& frame) {
    WireReader in(frame.payload);
    switch (frame.type) {
      case FrameType::kStart: return start(frame);
      case FrameType::kCancel: return driver_->cancel(frame.op);
      case FrameType::kGrant: {
        const auto bytes = in.number<std::uint64_t>();
        if (!in.finished()) leave(kExitProtocol);
        return driver_->grant_output(frame.op, bytes);
      }
      case FrameType::kLimit: {
        const Stream stream = in.choice(Stream::kFile);
        if (!in.finished()) leave(kExitProtocol);
        return driver_->limit_output(frame.op, stream);
      }
      case FrameType::kInput: {
        const bool end = in.flag();
        const std::string_view bytes = in.rest();
        if (!in.good()) leave(kExitProtocol);
        return driver_->give_input(frame.op, bytes, end);
      }
      case FrameType::kHello:
      case FrameType::kStep:
      case FrameType::kLoaded:
      case FrameType::kRefused:
      case FrameType::kStage:
      case FrameType::kOutput:
      case FrameType::kInputTaken:
      case FrameType::kCompleted:
      case FrameType::kLog:
      case FrameType::kViolation: leave(kExitProtocol);
    }
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

int serve_as_worker() {
  struct stat info {};
  if (::fstat(kWorkerSocket, &info) != 0 || !S_ISSOCK(info.st_mode) ||
      ::fstat(kWorkerLibrary, &info) != 0 || !S_ISREG(info.st_mode)) {
    std::fputs("berth-worker is started by berth with a socket and a provider; it does nothing by "
               "itself\n",
               stderr);
    return 2;
  }
  // The host's death ends this process even while a slot of the provider does not return. The socket
  // says the same, should the host have died before this took effect.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  ::fcntl(kWorkerLibrary, F_SETFD, FD_CLOEXEC);
  // What a provider prints reaches the host line by line, and is not lost when it crashes.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  auto* worker = new Worker;
  worker->run();
}

}  // namespace berth::plugin
