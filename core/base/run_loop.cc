#include "core/base/run_loop.h"

#include "core/base/halt_poll.h"

namespace berth {

void run_loop(boost::asio::io_context& loop) {
  HaltPoll patience;
  while (!loop.stopped()) {
    if (patience.ready_soon([&] { return loop.poll() > 0 || loop.stopped(); })) continue;
    loop.run_one();
    patience.slept();
  }
}

}  // namespace berth
