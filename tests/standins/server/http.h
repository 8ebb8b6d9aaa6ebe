// What a service sees of HTTP: a request, and the ways to answer it. Nothing of Beast, so that only two
// sources pay for it.
#ifndef BERTH_TESTS_STANDINS_SERVER_HTTP_H_
#define BERTH_TESTS_STANDINS_SERVER_HTTP_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/task.h"

namespace berth::standins {

using Headers = std::vector<std::pair<std::string, std::string>>;
using Query = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;
  std::string target;             // as it was sent
  std::string path;               // decoded, without the query
  std::vector<std::string> segments;  // of the path, each decoded
  Query query;                    // decoded, in order
  Headers headers;                // names in lower case
  std::string body;
  bool upgrade = false;           // a WebSocket is asked for

  // The first one of this name, or empty.
  std::string_view header(std::string_view name) const;
  std::string_view parameter(std::string_view name) const;
  std::vector<std::string> parameters(std::string_view name) const;
};

// Fills path, segments and query from `target`. False when it is no path.
bool split_target(Request* request);
std::string percent_decoded(std::string_view text, bool plus_is_space);

struct Response {
  int status = 200;
  std::string type = "application/json";  // empty: no Content-Type
  std::string body;
  Headers headers;
};

struct Message {
  bool text = true;
  std::string bytes;
};

// One request and what becomes of it. Exactly one of answer, begin, upgrade and drop is called first.
// All of it on the loop; a client that is gone is seen by false, never by an exception.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;

  virtual Task<void> answer(Response response) = 0;

  // An answer in pieces, as they come.
  virtual Task<bool> begin(Response head) = 0;
  virtual Task<bool> write(std::string bytes) = 0;
  virtual Task<void> finish() = 0;

  // Closes the connection as it is: without an answer, or in the middle of one.
  virtual void drop() = 0;
  // Answers nothing and keeps the connection until the client gives up.
  virtual Task<void> stall() = 0;

  virtual Task<bool> upgrade(std::string protocol) = 0;
  virtual Task<std::optional<Message>> receive() = 0;  // nothing: closed
  virtual Task<bool> send(Message message) = 0;
  virtual Task<void> close(int code, std::string reason) = 0;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_HTTP_H_
