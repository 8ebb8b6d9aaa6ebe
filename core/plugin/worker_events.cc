#include "core/plugin/worker_events.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/plugin/binding.h"

namespace berth::plugin {

void FrameEvents::stage(OpId op, std::string_view stage) {
  WireWriter out(FrameType::kStage, number_of(op));
  out.text(stage);
  send(op, out.take(), {});
}

void FrameEvents::output(OpId op, Stream stream, std::string_view bytes) {
  const auto header = frame_header(FrameType::kOutput, number_of(op), bytes.size() + 1);
  char start[kFrameHeaderBytes + 1];
  std::memcpy(start, header.data(), header.size());
  start[kFrameHeaderBytes] = static_cast<char>(stream);
  send(op, {start, sizeof start}, bytes);
}

void FrameEvents::input_taken(OpId op, std::uint64_t bytes) {
  WireWriter out(FrameType::kInputTaken, number_of(op));
  out.number(bytes);
  send(op, out.take(), {});
}

void FrameEvents::completed(OpId op, Reply reply) {
  Slot slot = Slot::kProbe;
  {
    const std::lock_guard lock(slots_mutex_);
    const auto found = slots_.find(op);
    if (found == slots_.end()) return;
    slot = found->second;
    slots_.erase(found);
  }
  const std::string frame = encode_reply(number_of(op), slot, reply);
  if (ending(op, slot, reply)) send(op, frame, {});
}

void FrameEvents::log(std::uint32_t level, std::string_view line) {
  WireWriter out(FrameType::kLog, 0);
  out.number(static_cast<std::uint8_t>(level));
  out.text(line);
  send(0, out.take(), {});
}

void FrameEvents::violation(const Violation& violation) {
  WireWriter out(FrameType::kViolation, 0);
  out.text(violation.clause);
  out.text(bounded_message(violation.text));
  send(0, out.take(), {});
}

void FrameEvents::begin(OpId op, Slot slot) {
  const std::lock_guard lock(slots_mutex_);
  slots_[op] = slot;
}

bool send_frame(int socket, std::string_view first, std::string_view second) {
  while (!first.empty() || !second.empty()) {
    iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                      {const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = first.empty() ? parts + 1 : parts;
    message.msg_iovlen = first.empty() || second.empty() ? 1 : 2;
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    auto left = static_cast<std::size_t>(sent);
    const std::size_t of_first = std::min(left, first.size());
    first.remove_prefix(of_first);
    left -= of_first;
    second.remove_prefix(left);
  }
  return true;
}

std::unique_ptr<TableDriver> make_driver(DriverEvents& events, const Hello& hello) {
  DriverSettings settings;
  settings.config_json = hello.config_json;
  settings.declared = hello.variables;
  settings.threads_max = hello.concurrency;
  for (const std::string& name : hello.variables)
    if (const char* value = std::getenv(name.c_str())) settings.variables.emplace(name, value);
  return std::make_unique<TableDriver>(events, std::move(settings));
}

bool bind_library(int library, TableDriver& driver, const Hello& hello,
                  const std::function<void(std::string_view)>& on_step,
                  registry::Findings& findings) {
  Claims claims;
  claims.extensions = hello.extensions;
  claims.fences = hello.fences;
  claims.concurrency = hello.concurrency;
  Binding binding;
  const bool bound = bind(library, driver.host(), claims, on_step, binding, findings);
  // What it printed is not to come after the frame that ends its loading.
  std::fflush(nullptr);
  if (bound) driver.set_binding(std::move(binding));
  return bound;
}

bool steer(TableDriver& driver, OpId op, const Frame& frame) {
  WireReader in(frame.payload);
  switch (frame.type) {
    case FrameType::kCancel: driver.cancel(op); return true;
    case FrameType::kGrant: {
      const auto bytes = in.number<std::uint64_t>();
      if (in.finished()) driver.grant_output(op, bytes);
      return in.finished();
    }
    case FrameType::kLimit: {
      const Stream stream = in.choice(Stream::kFile);
      if (in.finished()) driver.limit_output(op, stream);
      return in.finished();
    }
    case FrameType::kInput: {
      const bool end = in.flag();
      const std::string_view bytes = in.rest();
      if (in.good()) driver.give_input(op, bytes, end);
      return in.good();
    }
    case FrameType::kHello:
    case FrameType::kStart:
    case FrameType::kStep:
    case FrameType::kLoaded:
    case FrameType::kRefused:
    case FrameType::kStage:
    case FrameType::kOutput:
    case FrameType::kInputTaken:
    case FrameType::kCompleted:
    case FrameType::kLog:
    case FrameType::kViolation: return false;
  }
  return false;
}

}  // namespace berth::plugin
