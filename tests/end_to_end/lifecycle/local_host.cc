// The host program over the local provider in a worker of its own.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "core/plugin/load.h"
#include "tests/store/host_program.h"

namespace berth::test {
namespace {

constexpr Duration kCloseBound = std::chrono::seconds(10);

class Opened final : public HostProgramProvider {
 public:
  explicit Opened(std::unique_ptr<plugin::LoadedProvider> loaded) : loaded_(std::move(loaded)) {}
  Provider& provider() override { return loaded_->provider(); }
  std::vector<int> worker_pids() const override { return loaded_->worker_pids(); }
  Task<void> close() override {
    return loaded_->close(std::chrono::steady_clock::now() + kCloseBound);
  }

 private:
  std::unique_ptr<plugin::LoadedProvider> loaded_;
};

Task<std::unique_ptr<HostProgramProvider>> open_local(boost::asio::any_io_executor executor,
                                                      std::filesystem::path state,
                                                      std::string host_tag) {
  plugin::LoadRequest request;
  request.id = "local";
  request.file = BERTH_LOCAL_PROVIDER;
  request.worker = BERTH_WORKER;
  request.state_dir = state / "local";
  request.owner_tag = std::move(host_tag);
  auto loaded = co_await plugin::load_provider(executor, std::move(request));
  if (!loaded) {
    fmt::print(stderr, "local_host: {}\n", loaded.error().message());
    std::exit(1);
  }
  co_return std::make_unique<Opened>(std::move(*loaded));
}

}  // namespace
}  // namespace berth::test

int main(int argc, char** argv) {
  // The state folder's name is the mark by which a test finds what a program left running.
  const std::string mark = argc > 1 ? std::filesystem::path(argv[1]).filename().string() : "";
  const std::string script = fmt::format(
      "(trap '' TERM; exec setsid sh -c 'while :; do sleep 1; done' {0}) & exec sh -c 'sleep 0.3' "
      "{0}",
      mark);
  const berth::test::HostProgram program{berth::test::open_local, {"/bin/sh", "-c", script}};
  return berth::test::run_host_program(program, argc, argv);
}
