// Waiter: one coroutine waits here until it is woken.
#ifndef BERTH_CORE_PLUGIN_WAITER_H_
#define BERTH_CORE_PLUGIN_WAITER_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

namespace berth::plugin {

// On one loop; not thread-safe. A wait that is never woken ends with its coroutine.
class Waiter {
 public:
  // co_await waiter.wait(): at most one at a time.
  auto wait() {
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        [this](auto handler) {
          waiting_ = std::make_unique<Held<decltype(handler)>>(std::move(handler));
        },
        boost::asio::use_awaitable);
  }

  bool waiting() const { return waiting_ != nullptr; }

  // Resumes the coroutine before this returns. It may destroy whoever owns this object.
  void wake_now() {
    if (auto waiting = std::move(waiting_)) waiting->run();
  }
  // Resumes it from the loop.
  void wake_later(const boost::asio::any_io_executor& executor) {
    if (waiting_ == nullptr) return;
    boost::asio::post(executor, [waiting = std::move(waiting_)] { waiting->run(); });
  }

 private:
  struct Waiting {
    virtual ~Waiting() = default;
    virtual void run() = 0;
  };
  template <class Handler>
  struct Held final : Waiting {
    explicit Held(Handler handler_) : handler(std::move(handler_)) {}
    void run() override { std::move(handler)(); }
    Handler handler;
  };

  std::unique_ptr<Waiting> waiting_;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_WAITER_H_
