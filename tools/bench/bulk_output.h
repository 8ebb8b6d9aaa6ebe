// How fast a program's output reaches a consumer that keeps all of it, beside `cat FILE | wc -c`.
#ifndef BERTH_TOOLS_BENCH_BULK_OUTPUT_H_
#define BERTH_TOOLS_BENCH_BULK_OUTPUT_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <filesystem>

#include "core/base/result.h"
#include "core/base/task.h"

namespace berth::bench {

// `turns` turns of `mebibytes` each way, alternating, in bytes per second: "library", a program in the
// local sandbox that writes pieces of 64 KiB, from the first piece the consumer gets to the last;
// "cat_wc", the same amount from a file in memory, whole. `installation` has the provider and the
// worker; what is written goes below `folder`.
Task<Result<boost::json::object>> bulk_output(boost::asio::any_io_executor executor,
                                              std::filesystem::path installation,
                                              std::filesystem::path folder, int turns,
                                              std::size_t mebibytes);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_BULK_OUTPUT_H_
