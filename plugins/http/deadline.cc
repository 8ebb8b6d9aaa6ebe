#include "plugins/http/deadline.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace berth::http {

struct Deadline::Shared {
  Shared(const boost::asio::any_io_executor& executor, std::function<void()> on_pass)
      : timer(executor), pass(std::move(on_pass)) {}

  boost::asio::steady_timer timer;
  std::function<void()> pass;  // empty once the Deadline is gone
  Clock::time_point at = kNever;
  bool passed = false;
};

Deadline::Deadline(const boost::asio::any_io_executor& executor, Clock::time_point at,
                   std::function<void()> pass)
    : shared_(std::make_shared<Shared>(executor, std::move(pass))) {
  arm(shared_, at);
}

Deadline::~Deadline() {
  shared_->pass = nullptr;
  shared_->timer.cancel();
}

void Deadline::arm(const std::shared_ptr<Shared>& shared, Clock::time_point at) {
  shared->at = at;
  if (at == kNever) {
    shared->timer.cancel();
    return;
  }
  shared->timer.expires_at(at);
  shared->timer.async_wait([shared, at](const boost::system::error_code& wrong) {
    // A wait that was moved may have been queued already.
    if (wrong || !shared->pass || shared->at != at) return;
    shared->passed = true;
    std::exchange(shared->pass, nullptr)();
  });
}

void Deadline::move_to(Clock::time_point at) {
  if (!shared_->passed) arm(shared_, at);
}

bool Deadline::passed() const { return shared_->passed; }

}  // namespace berth::http
