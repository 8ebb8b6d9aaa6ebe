#include "tools/berth/interruptions.h"

#include <csignal>
#include <utility>

namespace berth::cli {

Interruptions::Interruptions(boost::asio::any_io_executor executor, Cancellation& cancellation,
                             std::function<void()> on_impatience)
    : signals_(std::move(executor)),
      cancellation_(cancellation),
      on_impatience_(std::move(on_impatience)) {}

void Interruptions::start() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    boost::system::error_code ignored;
    signals_.add(signal, ignored);
  }
  wait();
}

void Interruptions::wait() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;  // stopped
    if (first_signal_ == 0) {
      first_signal_ = signal;
      cancellation_.request(Cancellation::Reason::kCaller);
    } else {
      on_impatience_();
    }
    wait();
  });
}

void Interruptions::stop() {
  boost::system::error_code ignored;
  signals_.cancel(ignored);
}

}  // namespace berth::cli
