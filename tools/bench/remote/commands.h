// Commands at a remote service: one after the other, and many that stream at once.
#ifndef BERTH_TOOLS_BENCH_REMOTE_COMMANDS_H_
#define BERTH_TOOLS_BENCH_REMOTE_COMMANDS_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>
#include <cstddef>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/provider.h"

namespace berth::bench {

// `count` commands in one sandbox, one after the other, after a tenth as many unmeasured ones:
// {"commands", "cpu_ns", "wall_ns"}, the process' own processor time and the clock's, of all of them.
Task<Result<boost::json::object>> commands_in_turn(Provider& provider, std::size_t count);

// `each` commands at once in each of so many sandboxes, whose service sends a piece of output every
// `pause`: {"commands", "bytes_each", "threads", "late": {...}}. The memory is what the process has
// more for each while all of them stream; late is how much later than `pause` after the one before
// each piece came.
Task<Result<boost::json::object>> commands_at_once(boost::asio::any_io_executor executor,
                                                   Provider& provider, std::size_t sandboxes,
                                                   std::size_t each, Duration pause);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_REMOTE_COMMANDS_H_
