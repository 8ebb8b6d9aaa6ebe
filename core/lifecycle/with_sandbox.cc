#include "core/lifecycle/with_sandbox.h"

#include <boost/asio/this_coro.hpp>
#include <memory>
#include <utility>

#include "core/lifecycle/call.h"

namespace berth {

Task<CallEnd> with_sandbox(LifecycleServices& services, SandboxRequest request, Body body) {
  const auto executor = co_await boost::asio::this_coro::executor;
  const auto call = std::make_shared<Call>(services, std::move(request), executor);
  co_return co_await call->proceed(std::move(body));
}

}  // namespace berth
