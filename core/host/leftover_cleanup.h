// LeftoverCleanup: clean-up after dead hosts, beside a run.
#ifndef BERTH_CORE_HOST_LEFTOVER_CLEANUP_H_
#define BERTH_CORE_HOST_LEFTOVER_CLEANUP_H_

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "core/base/task.h"
#include "core/base/time.h"
#include "core/lifecycle/with_sandbox.h"
#include "core/store/sqlite/sqlite_store.h"

namespace berth {

// Starts at once; end() must be awaited before the services are gone. One loop.
class LeftoverCleanup {
 public:
  // Goes on with what dead hosts left behind of this provider: deletes what is confirmed and due.
  // Drops the results of calls released before `expiry`. Quiet.
  LeftoverCleanup(boost::asio::any_io_executor executor, SqliteStore& store,
           const LifecycleServices& services, WallTime expiry);

  // Lets it finish the step it is at; no further one is begun.
  Task<void> end();

 private:
  struct Work;
  static Task<void> clean(std::shared_ptr<Work> work);
  std::shared_ptr<Work> work_;
};

}  // namespace berth

#endif  // BERTH_CORE_HOST_LEFTOVER_CLEANUP_H_
