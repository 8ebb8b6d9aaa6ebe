// Interruptions: SIGINT, SIGTERM, SIGHUP and SIGQUIT become one cancellation.
#ifndef BERTH_TOOLS_BERTH_INTERRUPTIONS_H_
#define BERTH_TOOLS_BERTH_INTERRUPTIONS_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>

#include "core/lifecycle/cancellation.h"

namespace berth::cli {

// The first signal requests the cancellation. Later ones change nothing, since the deletion of a
// sandbox must not be skipped; `on_impatience` may say what is being waited for. A signal that was
// ignored when the process started, as under nohup, stays ignored.
class Interruptions {
 public:
  Interruptions(boost::asio::any_io_executor executor, Cancellation& cancellation,
                std::function<void()> on_impatience);
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

  // From here on signals cancel; until then they have the action they had.
  void start();
  const int& first_signal() const { return first_signal_; }  // 0: none yet
  // Lets the event loop end.
  void stop();

 private:
  void wait();

  boost::asio::signal_set signals_;
  Cancellation& cancellation_;
  std::function<void()> on_impatience_;
  int first_signal_ = 0;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_INTERRUPTIONS_H_
