// HttpServer: HTTP/1.1 over TLS on loopback, on one loop. Every request becomes an Exchange for `serve`.
#ifndef BERTH_TESTS_STANDINS_SERVER_HTTP_SERVER_H_
#define BERTH_TESTS_STANDINS_SERVER_HTTP_SERVER_H_

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/result.h"
#include "tests/standins/server/authority.h"
#include "tests/standins/server/http.h"

namespace berth::standins {

class HttpServer {
 public:
  using Serve = std::function<Task<void>(Exchange&)>;

  // Listens on a free port of 127.0.0.1 at once.
  static Result<std::unique_ptr<HttpServer>> open(boost::asio::any_io_executor executor,
                                                  const Certificates& certificates, Serve serve);
  virtual ~HttpServer() = default;

  virtual std::uint16_t port() const = 0;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_HTTP_SERVER_H_
