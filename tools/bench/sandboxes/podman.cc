// Podman through the socket of its service, so that no client has to start: many containers asked for
// in the same moment, each created, attached to and started, until the first byte it writes.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "tools/bench/sandboxes/family.h"

namespace berth::bench {
namespace {

using Local = boost::asio::local::stream_protocol;
using Ended = boost::asio::experimental::channel<void(boost::system::error_code)>;

constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);
constexpr std::size_t kReplyMaxBytes = 65'536;
// What the service puts before a piece of output: which stream, and how long it is.
constexpr std::size_t kFrameHeaderBytes = 8;

struct Podman {
  std::string socket;
  std::string container;  // what to create, JSON
  std::size_t count = 100;
};

struct Containers {
  const Podman& plan;
  boost::json::object container;
  Instant begun;
  std::vector<Duration> first_output;
  std::string problem;
};

Error socket_error(const boost::system::error_code& error) {
  return {ErrorKind::kIo, "podman's socket: " + error.message()};
}

// One connection, one request.
class Request {
 public:
  Request(boost::asio::any_io_executor executor, const std::string& socket)
      : endpoint_(socket), socket_(std::move(executor)) {}

  // An answer with another status than `wanted` is an error. With `stay` the connection then carries
  // what the container writes.
  Task<Status> send(std::string method, std::string path, std::string body, int wanted, bool stay) {
    auto [refused] = co_await socket_.async_connect(endpoint_, kNoThrow);
    if (refused) co_return fail(socket_error(refused));
    const std::string text = fmt::format(
        "{} /v4.0.0/libpod/containers/{} HTTP/1.1\r\nHost: podman\r\n"
        "Content-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{}",
        method, path, body.size(),
        stay ? "Connection: Upgrade\r\nUpgrade: tcp\r\n" : "Connection: close\r\n", body);
    auto [unsent, sent] =
        co_await boost::asio::async_write(socket_, boost::asio::buffer(text), kNoThrow);
    if (unsent) co_return fail(socket_error(unsent));
    auto [unread, head_bytes] = co_await boost::asio::async_read_until(
        socket_, boost::asio::dynamic_buffer(reply_, kReplyMaxBytes), "\r\n\r\n", kNoThrow);
    if (unread) co_return fail(socket_error(unread));
    // "HTTP/1.1 204 ..."
    const int status = reply_.size() > 12 ? std::atoi(reply_.c_str() + 9) : 0;
    reply_.erase(0, head_bytes);
    if (status == wanted) co_return Status();
    co_return fail(ErrorKind::kUnavailable, fmt::format("podman answers {} to {} {}: {}", status,
                                                        method, path, reply_.substr(0, 500)));
  }

  // Until a program's first byte is there.
  Task<Status> first_byte() {
    while (reply_.size() <= kFrameHeaderBytes) {
      char buffer[256];
      auto [unread, got] = co_await socket_.async_read_some(boost::asio::buffer(buffer), kNoThrow);
      if (unread) co_return fail(socket_error(unread));
      reply_.append(buffer, got);
    }
    co_return Status();
  }

 private:
  const Local::endpoint endpoint_;
  Local::socket socket_;
  std::string reply_;
};

Task<Status> create_and_start(const Setting& setting, Containers& containers, std::size_t number) {
  const std::string name = fmt::format("berth-bench-{}", number);
  boost::json::object container = containers.container;
  container["name"] = name;
  Request create(setting.executor, containers.plan.socket);
  std::string body = boost::json::serialize(container);
  BERTH_CO_CHECK_OK(co_await create.send("POST", "create", std::move(body), 201, false));
  Request attach(setting.executor, containers.plan.socket);
  BERTH_CO_CHECK_OK(
      co_await attach.send("POST", name + "/attach?stream=true&stdout=true", "", 101, true));
  Request start(setting.executor, containers.plan.socket);
  BERTH_CO_CHECK_OK(co_await start.send("POST", name + "/start", "", 204, false));
  BERTH_CO_CHECK_OK(co_await attach.first_byte());
  containers.first_output.push_back(now() - containers.begun);
  co_return Status();
}

Task<Status> remove(const Setting& setting, Containers& containers, std::size_t number) {
  Request request(setting.executor, containers.plan.socket);
  co_return co_await request.send("DELETE", fmt::format("berth-bench-{}?force=true", number), "",
                                  200, false);
}

template <class Step>
Task<void> step_one(const Setting& setting, Containers& containers, std::size_t number, Step step) {
  const Status done = co_await step(setting, containers, number);
  if (!done && containers.problem.empty()) containers.problem = done.error().message();
}

// For every container at once.
template <class Step>
Task<void> for_all(const Setting& setting, Containers& containers, Step step) {
  const std::size_t count = containers.plan.count;
  Ended ended(setting.executor, count);
  for (std::size_t i = 0; i < count; ++i) {
    boost::asio::co_spawn(setting.executor, step_one(setting, containers, i, step),
                          [&ended](std::exception_ptr problem) {
                            if (problem) std::rethrow_exception(problem);
                            ended.try_send(boost::system::error_code());
                          });
  }
  for (std::size_t i = 0; i < count; ++i) {
    co_await ended.async_receive(boost::asio::use_awaitable);
  }
}

Task<Result<boost::json::object>> measure_podman(const Setting& setting, std::shared_ptr<Podman> plan) {
  boost::system::error_code error;
  const boost::json::value container = boost::json::parse(plan->container, error);
  if (error || !container.is_object()) {
    co_return fail(ErrorKind::kInvalidArgument, "--container is not a JSON object");
  }
  Containers containers{*plan, container.get_object(), now(), {}, {}};
  co_await for_all(setting, containers, create_and_start);
  const std::string problem = containers.problem;
  co_await for_all(setting, containers, remove);
  if (!problem.empty()) co_return fail(ErrorKind::kUnavailable, problem);
  boost::json::object report;
  report["first_output"] = to_json(containers.first_output);
  co_return report;
}

}  // namespace

void add_podman(CLI::App& app, Family& chosen) {
  auto plan = std::make_shared<Podman>();
  CLI::App* command = app.add_subcommand("podman", "containers of a podman service at once");
  command->add_option("--socket", plan->socket, "of `podman system service`")->required();
  command->add_option("--container", plan->container, "what to create, JSON")->required();
  command->add_option("--count", plan->count, "how many")->check(CLI::Range(1, 10'000));
  command->callback([plan, &chosen] {
    chosen = [plan](Setting& setting) { return measure_podman(setting, plan); };
  });
}

}  // namespace berth::bench
