// An answer: its head at once, its body as it comes.
#ifndef BERTH_PLUGINS_HTTP_REPLY_H_
#define BERTH_PLUGINS_HTTP_REPLY_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/http/deadline.h"
#include "plugins/http/headers.h"
#include "plugins/http/url.h"

namespace berth::http {

struct ClientCore;

// Owns its connection until the body has been read to its end, then gives it back; one that is
// dropped earlier closes it. One thread. Reading fails with a TransportFailure that was answered.
class Reply {
 public:
  struct State;

  explicit Reply(std::unique_ptr<State> state);
  Reply(Reply&&) noexcept;
  Reply& operator=(Reply&&) noexcept;
  ~Reply();

  int status() const;
  bool ok() const { return status() / 100 == 2; }
  const Headers& headers() const;
  // Where it came from, after redirects.
  const Url& url() const;
  // As announced; nothing when it was not.
  std::optional<std::uint64_t> content_length() const;

  // The next piece of the body, at most 64 KiB, valid until the next call; empty: the end.
  boost::asio::awaitable<std::string_view> next();
  // The whole of what is left. More than `bytes_max` is a failure of reason kTooLarge, and no more
  // than that is ever held.
  boost::asio::awaitable<std::string> text(std::size_t bytes_max);
  // Reads what is left of a small body so that the connection can be used again; gives up quietly.
  boost::asio::awaitable<void> discard();

  // Moves the deadline of the exchange.
  void expires_at(Clock::time_point at);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_REPLY_H_
