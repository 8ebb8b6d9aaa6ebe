// One command of `run` that really runs: a process of this user, in the sandbox's folder.
//
// Used by one lent thread, from start to end. [RUN-001] [STRM-003]
#ifndef BERTH_PLUGINS_REFERENCE_HOST_PROGRAM_H_
#define BERTH_PLUGINS_REFERENCE_HOST_PROGRAM_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/abi.h"
#include "berth/host.hpp"
#include "berth/outcome.hpp"
#include "berth/values.hpp"
#include "plugins/reference/boxes.h"
#include "plugins/reference/supervisor.h"

namespace berth::reference {

class HostProgram {
 public:
  HostProgram(const Host& host, berth_op op) : host_(host), op_(op) {}

  // Takes what it needs of the command. Throws berth::Failure (rejected) for what cannot be had.
  void prepare(const Boxes& boxes, const std::string& sandbox, const Command& command,
               std::uint64_t expires_unix_ms);
  // Starts it and stays until it and everything it started is over. What went wrong is thrown by
  // result().
  void run();
  RunResult result() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Output {
    Fd fd;
    berth_stream stream = BERTH_STREAM_STDOUT;
    std::uint64_t bytes = 0;
    bool sending = true;
  };

  void start();
  void exchange();
  bool finished() const;
  void poll_once();
  void take(Output& output);
  void feed();
  void wait_for_reader();
  void stop_when_due();
  void end_it(Cause cause);
  void reap();

  const Host& host_;
  const berth_op op_;
  SupervisorPlan plan_;
  bool wants_input_ = false;
  Clock::duration timeout_{0};
  Clock::time_point due_ = Clock::time_point::max();
  Fd alive_;
  Fd stop_;
  Fd control_;
  Fd report_;
  Fd in_;
  Output out_;
  Output err_;
  std::string pending_input_;
  bool input_over_ = false;
  bool paused_ = false;
  pid_t supervisor_ = -1;
  bool reported_ = false;
  bool lost_ = false;  // the supervisor ended without a report
  SupervisorReport told_;
  std::optional<Cause> ended_for_;
  std::optional<Failure> failure_;
  Clock::time_point started_{};
  Clock::time_point ended_{};
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_HOST_PROGRAM_H_
