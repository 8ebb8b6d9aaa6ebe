// Connections that may carry another request, by origin.
//
// One thread. Idle connections are bounded in number and in age; a timer runs while there are any.
#ifndef BERTH_PLUGINS_HTTP_POOL_H_
#define BERTH_PLUGINS_HTTP_POOL_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "plugins/http/deadline.h"
#include "plugins/http/tls_socket.h"

namespace berth::http {

struct Connection {
  std::unique_ptr<TlsSocket> socket;
  std::string rest;             // received and not yet parsed
  std::uint64_t exchanges = 0;  // that it has carried
};
using ConnectionPtr = std::unique_ptr<Connection>;

struct PoolLimits {
  std::size_t idle_per_origin_max = 64;
  std::chrono::milliseconds idle_time_max{15'000};
};

class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(const boost::asio::any_io_executor& executor, PoolLimits limits)
      : limits_(limits), timer_(executor) {}

  // One that is still open and quiet; nullptr: none.
  ConnectionPtr take(const std::string& origin);
  void put(const std::string& origin, ConnectionPtr connection);
  std::size_t idle() const;
  void clear();

 private:
  struct Idle {
    ConnectionPtr connection;
    Clock::time_point since;
  };
  void sweep();
  void sweep_later();

  PoolLimits limits_;
  boost::asio::steady_timer timer_;
  bool timer_runs_ = false;
  std::map<std::string, std::deque<Idle>> idle_;  // the latest at the back
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_POOL_H_
