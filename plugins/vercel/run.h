// Programs at Vercel.
//
// A program is run by runner.py or runner.cjs, whichever the image can run: they make exact bytes,
// a standard input, a real cause and an end of everything that was started out of a service that
// has none of these. The program and its variables travel in the command's environment, which the
// service does not show again.
#ifndef BERTH_PLUGINS_VERCEL_RUN_H_
#define BERTH_PLUGINS_VERCEL_RUN_H_

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "berth/async_provider.hpp"
#include "plugins/vercel/api.h"
#include "plugins/vercel/commands.h"
#include "plugins/vercel/files.h"

namespace berth::vercel {

// One thread; what it is given outlives it.
class Runner {
 public:
  Runner(Api& api, Commands& commands, Files& files);

  Awaitable<RunResult> run(AsyncOperation& operation, std::string session, const Command& command);

 private:
  struct Running;

  std::string command_body(const Command& command, const Running& running) const;
  Awaitable<RunResult> perform(AsyncOperation& operation, Running& running, const Command& command);
  Awaitable<void> perform_into(AsyncOperation& operation, Running& running, const Command& command,
                               std::optional<RunResult>& result, std::exception_ptr& wrong);
  Awaitable<void> feed(AsyncOperation& operation, Running& running);
  // Reads one stream of events to its end, or to where it breaks.
  Awaitable<void> follow(AsyncOperation& operation, Running& running, http::Reply reply);
  Awaitable<void> read_log(AsyncOperation& operation, Running& running);
  Awaitable<void> hand_over(AsyncOperation& operation, Running& running);
  // The stream broke, or told of no end: asks until the end is known, or cannot be.
  Awaitable<RunResult> recover(AsyncOperation& operation, Running& running);
  Awaitable<RunResult> unseen_end(Running& running);
  Awaitable<void> end_program(Running& running);

  Api& api_;
  Commands& commands_;
  Files& files_;
  std::string begin_;  // of every body of a command
};

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_RUN_H_
