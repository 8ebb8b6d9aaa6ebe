#include "core/conformance/case_process.h"

#include <fcntl.h>
#include <signal.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <array>
#include <cstdlib>
#include <memory>

#include "core/base/json.h"
#include "core/conformance/child.h"
#include "core/os/process.h"

namespace berth::conformance {
namespace {

namespace json = boost::json;

constexpr std::size_t kToldBytesMax = std::size_t{4} << 20;
constexpr std::size_t kNotesMax = 64;
// From the end of a case's time to the end of its keeper's patience.
constexpr std::chrono::seconds kKeeperGrace{10};
// How long a keeper may take to end once nobody listens.
constexpr int kKeeperRounds = 1000;
constexpr std::chrono::milliseconds kKeeperPause{3};

std::string text_of(const json::object& message, std::string_view key) {
  const auto* value = message.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::vector<std::string> texts_of(const json::object& message, std::string_view key) {
  std::vector<std::string> out;
  const auto* value = message.if_contains(key);
  if (value == nullptr || !value->is_array()) return out;
  for (const json::value& item : value->get_array())
    if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

void take_result(const json::object& message, Told& told) {
  told.result = text_of(message, "result");
  told.text = text_of(message, "text");
  told.left = texts_of(message, "left");
  const auto* seen = message.if_contains("violations");
  if (seen == nullptr || !seen->is_array()) return;
  for (const json::value& one : seen->get_array()) {
    const auto* pair = one.if_array();
    if (pair == nullptr || pair->size() != 2 || !pair->at(0).is_string() || !pair->at(1).is_string())
      continue;
    told.violations.push_back({std::string(pair->at(0).get_string()),
                               std::string(pair->at(1).get_string())});
  }
}

// The provider shares a process with what writes these lines, so they are foreign input.
void take_line(std::string_view line, Told& told) {
  const auto document = parse_json(line);
  const auto* message = document ? document->if_object() : nullptr;
  if (message == nullptr) return;
  if (message->contains("result")) return take_result(*message, told);
  if (message->contains("over")) told.over = true;
  if (message->contains("at") && !told.over) {
    told.operation = text_of(*message, "at");
    told.stage.clear();
  }
  if (message->contains("stage") && !told.over) told.stage = text_of(*message, "stage");
  if (message->contains("note") && told.notes.size() < kNotesMax)
    told.notes.push_back(text_of(*message, "note"));
  const auto* ended = message->if_contains("ended");
  if (ended == nullptr || !ended->is_object()) return;
  told.ended = text_of(ended->get_object(), "how");
  if (const auto number = json_int(ended->get_object(), "number", "ended"))
    told.number = static_cast<int>(*number);
  told.stragglers = texts_of(*message, "stragglers");
  told.printed = text_of(*message, "printed");
}

Told parse(std::string_view text) {
  Told told;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    take_line(text.substr(0, end), told);
    text.remove_prefix(end + 1);
  }
  return told;
}

std::vector<std::string> whole_environment() {
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) out.emplace_back(*variable);
  return out;
}

Result<os::Process> spawn(const std::filesystem::path& program, const CaseRequest& request,
                          int messages) {
  BERTH_TRY(const os::Fd text, os::sealed_memfd("berth-case", encode(request)));
  BERTH_TRY(const os::Fd nothing, os::open_file("/dev/null", O_RDWR));
  os::SpawnRequest spawn;
  spawn.program = program;
  spawn.arguments = {kChildArgument};
  spawn.environment = whole_environment();
  spawn.descriptors = {{nothing.get(), 0},
                       {nothing.get(), 1},
                       {nothing.get(), 2},
                       {text.get(), kRequestFd},
                       {messages, kMessagesFd}};
  return os::Process::spawn(spawn);
}

}  // namespace

Task<Result<Told>> run_process(boost::asio::any_io_executor executor,
                               std::filesystem::path program, CaseRequest request,
                               Cancellation& cancellation) {
  BERTH_CO_TRY(os::Pipe pipe, os::make_pipe());
  BERTH_CO_TRY(os::Process process, spawn(program, request, pipe.write_end.get()));
  pipe.write_end.reset();
  boost::asio::posix::stream_descriptor stream(executor, pipe.read_end.release());
  boost::asio::steady_timer timer(executor);
  // Closing this end tells the keeper that nobody listens: it ends its case and what that started.
  const auto listening = std::make_shared<bool>(true);
  const auto stop = [listening, &stream] {
    boost::system::error_code ignored;
    if (*listening) stream.close(ignored);
  };
  timer.expires_after(std::chrono::milliseconds(request.budget_ms) + kKeeperGrace);
  timer.async_wait([stop](boost::system::error_code error) {
    if (!error) stop();
  });
  std::function<void()> on_cancel = stop;
  const Cancellation::Subscription subscription = cancellation.subscribe(std::move(on_cancel));
  std::string text;
  std::array<char, 16384> buffer;
  while (stream.is_open()) {
    boost::system::error_code error;
    const std::size_t got = co_await stream.async_read_some(
        boost::asio::buffer(buffer), boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error) break;
    if (text.size() + got <= kToldBytesMax) text.append(buffer.data(), got);
  }
  stop();
  *listening = false;
  for (int round = 0; round < kKeeperRounds && !process.try_reap(); ++round) {
    boost::system::error_code ignored;
    timer.expires_after(kKeeperPause);
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  co_return parse(text);
}

}  // namespace berth::conformance
