// Makes connections: resolving, connecting, through a proxy where there is one, and TLS.
#ifndef BERTH_PLUGINS_HTTP_DIAL_H_
#define BERTH_PLUGINS_HTTP_DIAL_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "plugins/http/deadline.h"
#include "plugins/http/delivery.h"
#include "plugins/http/proxy.h"
#include "plugins/http/tls_socket.h"
#include "plugins/http/url.h"

namespace berth::http {

// A connection to the origin, trusted, ready for a request. Every failure is a TransportFailure
// that was not sent. The origin, the context and the proxy outlive the call.
boost::asio::awaitable<std::unique_ptr<TlsSocket>> dial(boost::asio::any_io_executor executor,
                                                        const Origin& origin,
                                                        const TlsContext& context,
                                                        const Proxy* proxy,
                                                        Clock::time_point deadline);

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_DIAL_H_
