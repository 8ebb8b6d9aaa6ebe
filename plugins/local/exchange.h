// One request to the init of a sandbox and everything that flows while it is answered: streams out,
// input in, cancellation, time limits. Nothing grows: what the host does not take stays in a pipe of
// the kernel and stops the program.
#ifndef BERTH_PLUGINS_LOCAL_EXCHANGE_H_
#define BERTH_PLUGINS_LOCAL_EXCHANGE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/values.hpp"
#include "fd.h"
#include "helper/channel.h"
#include "peer.h"
#include "wire.h"

struct pollfd;

namespace berth::local {

class Sandbox;

// Why the provider itself ended a command; nothing when it did not.
enum class KillReason { kNone, kCancelled, kWall, kCpu, kOutput };

struct ExchangeBounds {
  std::optional<std::chrono::steady_clock::time_point> wall_deadline;
  std::optional<std::uint64_t> cpu_ns;
  std::uint64_t output_bytes = 0;  // 0: any amount
};

class Exchange {
 public:
  Exchange(Sandbox& sandbox, Peer& peer, ExchangeBounds bounds);

  // The program's end of a new pipe whose bytes go to the host as `stream`.
  Fd add_output(Stream stream);
  // The program's end of a new pipe that gets the host's input, or end of file at once.
  Fd add_input(bool from_host);

  // Sends the request with these descriptors and closes them here; returns when it is answered and
  // every stream has ended, or the sandbox is gone. Throws Failure (rejected) when nothing was sent.
  template <typename T>
  void perform(T request, Kind kind, std::vector<Fd> fds) {
    request.header = Header{kind, 0, id_};
    offer_input();
    send(&request, sizeof(request), std::move(fds));
    while (!finished()) step();
  }

  bool lost() const { return lost_; }
  const Ended& ended() const { return ended_; }
  KillReason reason() const { return reason_; }
  std::uint64_t bytes_of(Stream stream) const;
  std::uint64_t input_bytes() const { return input_bytes_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Output {
    Stream stream = Stream::kStdout;
    Fd fd;
    std::uint64_t bytes = 0;
    bool limited = false;
  };

  void offer_input();
  void send(const void* request, std::size_t size, std::vector<Fd> fds);
  bool finished() const;
  void step();
  int wait_milliseconds() const;
  void take_messages();
  void accept_ended(const Received& message);
  void lose();
  void settle();
  void read_output(Output* output);
  void deliver(Output* output, const char* bytes, std::size_t size);
  void fetch_input();
  void write_input();
  void check_bounds();
  void end_command(KillReason reason);

  Sandbox& sandbox_;
  Peer& peer_;
  const ExchangeBounds bounds_;
  const std::uint64_t id_;
  std::array<Output, 2> outputs_;
  std::size_t output_count_ = 0;
  Fd input_;
  std::string pending_input_;
  bool input_ended_ = true;
  bool input_waits_ = false;
  std::uint64_t input_bytes_ = 0;
  bool paused_ = false;
  bool discarding_ = false;
  bool answered_ = false;
  bool lost_ = false;
  KillReason reason_ = KillReason::kNone;
  std::uint64_t cpu_before_ns_ = 0;
  std::optional<Clock::time_point> force_at_;   // when asking the init is no longer enough
  std::optional<Clock::time_point> streams_until_;
  std::optional<Clock::time_point> next_cpu_look_;
  Ended ended_{};
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_EXCHANGE_H_
