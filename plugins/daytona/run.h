// Commands at Daytona: a session with one background command for each.
//
// The command is runner.py with the program as its arguments. The service's logs are text, kept
// whole and read again and again; the runner's lines make exact bytes, separate streams and a real
// cause out of them. Its input goes the same way in the other direction, while it runs.
#ifndef BERTH_PLUGINS_DAYTONA_RUN_H_
#define BERTH_PLUGINS_DAYTONA_RUN_H_

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "berth/async_provider.hpp"
#include "plugins/daytona/api.h"

namespace berth::daytona {

// One thread; the Api outlives it.
class Runner {
 public:
  explicit Runner(Api& api);

  Awaitable<RunResult> run(AsyncOperation& operation, std::string ref, const Command& command);

 private:
  struct Running;

  Awaitable<void> start(AsyncOperation& operation, Running& running, const Command& command);
  Awaitable<RunResult> follow(AsyncOperation& operation, Running& running);
  Awaitable<bool> read_log(AsyncOperation& operation, Running& running);
  Awaitable<bool> follow_socket(AsyncOperation& operation, Running& running);
  Awaitable<void> hand_over(AsyncOperation& operation, Running& running);
  Awaitable<bool> has_exited(AsyncOperation& operation, Running& running);
  Awaitable<RunResult> unseen_end(AsyncOperation& operation, Running& running);
  Awaitable<void> end_session(Running& running);
  Awaitable<void> feed(AsyncOperation& operation, Running& running);
  Awaitable<void> follow_into(AsyncOperation& operation, Running& running,
                              std::optional<RunResult>& result, std::exception_ptr& wrong);
  std::string exec_body(const Command& command) const;

  Api& api_;
  std::string begin_;  // what every body begins with: the runner is most of it, and always the same
};

// One word for a POSIX shell, whatever is in it.
std::string quoted(std::string_view word);

}  // namespace berth::daytona

#endif  // BERTH_PLUGINS_DAYTONA_RUN_H_
