// Who a command's streams lead to: the host through an operation, or a string when the provider asks
// something for itself.
#ifndef BERTH_PLUGINS_LOCAL_PEER_H_
#define BERTH_PLUGINS_LOCAL_PEER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "berth/abi.h"
#include "berth/host.hpp"

namespace berth::local {

// None of these waits; the descriptors say when to ask again, -1 when there is none.
class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;

  virtual berth_flow output(Stream stream, std::string_view bytes) = 0;
  virtual berth_input_status input(std::span<char> buffer, std::size_t* got) = 0;
  // True when output that was just paused may go on at once.
  virtual bool resumed() = 0;
  virtual bool cancelled() const = 0;
  virtual int cancel_fd() const = 0;
  virtual int ready_fd() const = 0;
};

class HostPeer final : public Peer {
 public:
  explicit HostPeer(Operation& operation) : operation_(operation) {}

  berth_flow output(Stream stream, std::string_view bytes) override {
    const berth_host_v1& host = operation_.host().table();
    const berth_bytes piece{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
    return host.output(host.ctx, operation_.id(), static_cast<berth_stream>(stream), piece);
  }
  berth_input_status input(std::span<char> buffer, std::size_t* got) override {
    const berth_host_v1& host = operation_.host().table();
    std::uint64_t count = 0;
    const berth_input_status status =
        host.input(host.ctx, operation_.id(), reinterpret_cast<std::uint8_t*>(buffer.data()),
                   buffer.size(), &count);
    *got = static_cast<std::size_t>(count);
    return status;
  }
  bool resumed() override {
    constexpr std::uint64_t kDoNotWait = 1;
    const berth_host_v1& host = operation_.host().table();
    return host.op_wait(host.ctx, operation_.id(), kDoNotWait) == BERTH_WAIT_READY;
  }
  bool cancelled() const override { return operation_.cancelled(); }
  int cancel_fd() const override { return operation_.cancel_fd(); }
  int ready_fd() const override { return operation_.ready_fd(); }

 private:
  Operation& operation_;
};

// Keeps the beginning of standard output.
class CapturePeer final : public Peer {
 public:
  berth_flow output(Stream stream, std::string_view bytes) override {
    constexpr std::size_t kKeptBytes = 65536;
    if (stream != Stream::kStdout) return BERTH_OUTPUT_ACCEPTED;
    text_.append(bytes.substr(0, kKeptBytes - text_.size()));
    return text_.size() < kKeptBytes ? BERTH_OUTPUT_ACCEPTED : BERTH_OUTPUT_LIMIT;
  }
  berth_input_status input(std::span<char>, std::size_t*) override { return BERTH_INPUT_END; }
  bool resumed() override { return true; }
  bool cancelled() const override { return false; }
  int cancel_fd() const override { return -1; }
  int ready_fd() const override { return -1; }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_PEER_H_
