// run_loop: io_context::run() for a host that owns its thread.
#ifndef BERTH_CORE_BASE_RUN_LOOP_H_
#define BERTH_CORE_BASE_RUN_LOOP_H_

#include <boost/asio/io_context.hpp>

namespace berth {

// Runs `loop` until it has no more work or is stopped, as its run() does, and looks for a moment
// before it sleeps (see HaltPoll). A host may as well call run() itself: answers of workers and
// commits then come later by what a wake-up costs.
void run_loop(boost::asio::io_context& loop);

}  // namespace berth

#endif  // BERTH_CORE_BASE_RUN_LOOP_H_
