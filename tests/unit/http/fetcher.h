// The client of plugins/http for tests that wait: one request at a time, on a loop of its own.
#ifndef BERTH_TESTS_UNIT_HTTP_FETCHER_H_
#define BERTH_TESTS_UNIT_HTTP_FETCHER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/http/client.h"
#include "plugins/http/websocket.h"

namespace berth::http::tests {

struct Fetched {
  int status = 0;  // 0: no answer
  Headers headers;
  std::string body;
  std::string from;  // the address that answered
  std::optional<TransportFailure> failure;
};

class Fetcher {
 public:
  explicit Fetcher(ClientOptions options);
  ~Fetcher();

  // Sends, and reads the whole answer.
  Fetched fetch(const Request& request, std::size_t body_bytes_max = 1 << 20);
  // The same; the coroutine is cancelled after `time`.
  Fetched fetch_cancelled(const Request& request, std::chrono::milliseconds time);
  // As many at once.
  std::vector<Fetched> fetch_all(const std::vector<Request>& requests);

  using Talk = std::function<boost::asio::awaitable<void>(Client&)>;
  // Runs a conversation; the failure it ended with, if any.
  std::optional<TransportFailure> talk(const Talk& talk);
  // The same; cancelled after `time`.
  std::optional<TransportFailure> talk_cancelled(const Talk& talk, std::chrono::milliseconds time);

  Client& client();

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace berth::http::tests

#endif  // BERTH_TESTS_UNIT_HTTP_FETCHER_H_
