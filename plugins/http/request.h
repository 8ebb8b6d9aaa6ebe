// A request, as the caller describes it. Values; a body's source is called on the client's thread.
#ifndef BERTH_PLUGINS_HTTP_REQUEST_H_
#define BERTH_PLUGINS_HTTP_REQUEST_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugins/http/deadline.h"
#include "plugins/http/headers.h"
#include "plugins/http/url.h"

namespace berth::http {

enum class Method { kGet, kHead, kPost, kPut, kPatch, kDelete };

std::string_view to_string(Method method);

// Fills the buffer with what comes next of a body and says how much; zero is its end.
using BodySource = std::function<boost::asio::awaitable<std::size_t>(std::span<char>)>;

// Whether the same request may be sent once more after it is not known whether it arrived.
enum class Repeat {
  kByMethod,  // GET, HEAD, PUT and DELETE may
  kAllowed,
  kForbidden,
};

struct Request {
  Method method = Method::kGet;
  Url url;
  Headers headers;      // go along with redirects within the origin
  Headers credentials;  // never leave the origin of `url`
  std::string body;
  // Instead of `body`: streamed, and therefore sent once. Without a size it goes in chunks.
  BodySource source;
  std::optional<std::uint64_t> source_bytes;
  Repeat repeat = Repeat::kByMethod;
  // When the whole exchange must be over, the answer's body included, unless Reply::expires_at
  // moves it.
  Clock::time_point deadline = kNever;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_REQUEST_H_
