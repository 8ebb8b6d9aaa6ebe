// A provider of a remote service, loaded into this process, so that what is measured of the process is
// the adapter and its host and nothing else.
#ifndef BERTH_TOOLS_BENCH_REMOTE_SERVICE_H_
#define BERTH_TOOLS_BENCH_REMOTE_SERVICE_H_

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/plugin/load.h"

namespace berth::bench {

struct ServicePlan {
  std::string id;                // of the provider: "daytona", "vercel"
  std::string url;               // of its API
  std::string authority;         // a file to trust
  std::filesystem::path binary;  // this program's own folder
  std::filesystem::path folder;  // for what the provider keeps
};

using LoadedService = std::unique_ptr<plugin::LoadedProvider>;

// Credentials come from the environment, as they do for the command.
Task<Result<LoadedService>> load_service(boost::asio::any_io_executor executor, ServicePlan plan);

// Sandboxes for a measurement: made before it, ended after it.
Task<Result<std::vector<Created>>> make_sandboxes(Provider& provider, std::size_t count);
Task<Status> end_sandboxes(Provider& provider, std::vector<Created> made);

// Takes output and drops it.
class Drop final : public OutputSink {
 public:
  Flow write(Stream, std::string_view) override { return Flow::kContinue; }
  void on_resume(std::function<void()>) override {}
};

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_REMOTE_SERVICE_H_
