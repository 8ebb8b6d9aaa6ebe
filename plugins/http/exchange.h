// One request and its answer on one connection: what client.cc repeats and redirects.
#ifndef BERTH_PLUGINS_HTTP_EXCHANGE_H_
#define BERTH_PLUGINS_HTTP_EXCHANGE_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <vector>

#include "plugins/http/client.h"
#include "plugins/http/pool.h"
#include "plugins/http/reply.h"
#include "plugins/http/reply_parser.h"
#include "plugins/http/request.h"
#include "plugins/http/tls_context.h"

namespace berth::http {

// What a client and its answers share.
struct ClientCore {
  ClientCore(boost::asio::any_io_executor on, ClientOptions with);

  boost::asio::any_io_executor executor;
  ClientOptions options;
  TlsContext tls;
  std::shared_ptr<Pool> pool;
  // Where every connection reads into. Nothing suspends between reading and parsing, so one is
  // enough, and connections that wait need none.
  std::vector<char> scratch;
};

// One attempt at a request: where it goes, which is not where the first one went once redirected.
struct Attempt {
  const Request* request = nullptr;
  const Url* url = nullptr;
  bool with_credentials = true;
  bool fresh = false;       // not on a connection that was used before
  bool was_reused = false;  // out: it went on one that was
  bool took_body = false;   // out: the body's source was asked for something
};

boost::asio::awaitable<Reply> exchange(std::shared_ptr<ClientCore> core, Attempt& attempt);

// Method and address for messages: "POST https://host/path".
std::string shown(const Request& request, const Url& url);

// The error of a wait as a failure, for an exchange or a WebSocket.
TransportFailure transport_failure(const boost::system::error_code& error, bool timed_out,
                                   Delivery delivery, const std::string& what);

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_EXCHANGE_H_
