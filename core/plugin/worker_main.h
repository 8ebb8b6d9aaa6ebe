// The worker's side of the wire: loads one provider and serves its host until the socket ends.
#ifndef BERTH_CORE_PLUGIN_WORKER_MAIN_H_
#define BERTH_CORE_PLUGIN_WORKER_MAIN_H_

namespace berth::plugin {

// The descriptors a worker is started with.
inline constexpr int kWorkerSocket = 3;
inline constexpr int kWorkerLibrary = 4;

// Never returns before the host is gone or has ended this worker; as a keeper, see keeper_main.h. The
// result is an exit code.
int serve_as_worker(int argc, char** argv);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_WORKER_MAIN_H_
