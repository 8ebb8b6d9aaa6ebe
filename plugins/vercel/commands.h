// Commands at Vercel: how one is begun, what its stream of events says, how one is ended.
//
// One thread: the provider's loop.
#ifndef BERTH_PLUGINS_VERCEL_COMMANDS_H_
#define BERTH_PLUGINS_VERCEL_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/async_provider.hpp"
#include "plugins/http/lines.h"
#include "plugins/vercel/api.h"

namespace berth::vercel {

// One line of a command's stream.
struct Event {
  enum class Kind { kCommand, kOutput, kError };
  Kind kind = Kind::kCommand;
  std::string id;                         // kCommand
  std::optional<std::int64_t> exit_code;  // kCommand, once it has ended
  std::uint64_t duration_ms = 0;          // kCommand, then
  Stream stream = Stream::kStdout;        // kOutput
  std::string data;                       // kOutput
  std::string code, message;              // kError
};

// Events out of bytes that are cut anywhere. What is not one, or of a kind that did not exist when
// this was written, is passed over.
class EventReader {
 public:
  static constexpr std::size_t kLineBytesMax = 8 * 1024 * 1024;

  // Throws http::RecordTooLong.
  void put(std::string_view bytes);
  void end();
  std::vector<Event> take() { return std::exchange(events_, {}); }

 private:
  void line(std::string_view line);

  http::LineReader lines_{kLineBytesMax};
  std::vector<Event> events_;
};

// What a short command of the provider's own said.
struct Said {
  std::int64_t exit_code = -1;
  std::string out;
  std::string err;
};

struct CommandState {
  enum class Kind { kRunning, kEnded, kNoCommand, kUnknown };
  Kind kind = Kind::kUnknown;
  std::int64_t exit_code = -1;
  std::uint64_t duration_ms = 0;
  std::string why;  // kNoCommand, kUnknown
};

class Commands {
 public:
  explicit Commands(Api& api) : api_(api) {}

  // The answer to a command that is waited for: its events follow. A command is sent once; it is
  // sent again only when the service says that it did not take it. Throws Failure and
  // http::TransportFailure.
  Awaitable<http::Reply> begin(AsyncOperation& operation, std::string session, std::string body,
                               Clock::time_point deadline);
  // Runs a shell's script with arguments. Throws as begin does.
  Awaitable<Said> shell(AsyncOperation& operation, std::string session, std::string script,
                        std::vector<std::string> arguments);

  Awaitable<CommandState> look(std::string session, std::string command,
                               Clock::time_point deadline);
  // The id of the command that has this word among its arguments; empty: none is known.
  Awaitable<std::string> find(std::string session, std::string word, Clock::time_point deadline);
  // Asks for a signal; whether it ended is another question.
  Awaitable<void> kill(std::string session, std::string command, int signal,
                       Clock::time_point deadline);
  // Whether the session is over; nothing when it cannot be told.
  Awaitable<std::optional<bool>> session_is_over(std::string session, Clock::time_point deadline);

 private:
  Awaitable<void> until_changed(AsyncOperation& operation, std::string session);

  Api& api_;
};

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_COMMANDS_H_
