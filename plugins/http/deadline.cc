#include "plugins/http/deadline.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

namespace berth::http {

// One timer, set for the earliest and left as it is when that one goes. Most go long before their
// moment, and a timer for each would cost every request a change of the system's timer and a
// completion that says nothing.
class Deadlines final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;

  explicit Deadlines(boost::asio::execution_context& context) : service(context) {}

  static Deadlines& of(const boost::asio::any_io_executor& executor) {
    Deadlines& all = boost::asio::use_service<Deadlines>(
        boost::asio::query(executor, boost::asio::execution::context));
    if (!all.timer_) all.timer_.emplace(executor);
    return all;
  }

  void enter(Deadline& one, Clock::time_point at) {
    if (at == kNever) return;
    one.place_ = waiting_.emplace(at, &one);
    one.waits_ = true;
    if (at < set_for_) set(at);
  }

  void leave(Deadline& one) {
    if (!one.waits_) return;
    one.waits_ = false;
    waiting_.erase(one.place_);
  }

 private:
  // The service of timers is younger than this one, and destroyed before it.
  void shutdown() override { timer_.reset(); }

  void set(Clock::time_point at) {
    set_for_ = at;
    timer_->expires_at(at);
    timer_->async_wait([this](const boost::system::error_code& wrong) {
      if (!wrong) pass_all();
    });
  }

  void pass_all() {
    set_for_ = kNever;
    const auto now = Clock::now();
    while (!waiting_.empty() && waiting_.begin()->first <= now) {
      Deadline& one = *waiting_.begin()->second;
      leave(one);
      one.passed_ = true;
      // It may be gone after this.
      const auto pass = std::exchange(one.pass_, nullptr);
      pass();
    }
    if (!waiting_.empty()) set(waiting_.begin()->first);
  }

  Deadline::Waiting waiting_;
  std::optional<boost::asio::steady_timer> timer_;
  Clock::time_point set_for_ = kNever;
};

Deadline::Deadline(const boost::asio::any_io_executor& executor, Clock::time_point at,
                   std::function<void()> pass)
    : all_(Deadlines::of(executor)), pass_(std::move(pass)) {
  all_.enter(*this, at);
}

Deadline::~Deadline() { all_.leave(*this); }

void Deadline::move_to(Clock::time_point at) {
  if (passed_) return;
  all_.leave(*this);
  all_.enter(*this, at);
}

}  // namespace berth::http
