// Vercel Sandbox as a provider: its slots, each in the source that is named after it.
//
// What recovery "manual" means here: names are unique, so a create that is repeated answers with
// the sandbox that is there, but nothing at the service can keep a lost create from arriving late.
#include "berth/async_provider.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "plugins/vercel/api.h"
#include "plugins/vercel/config.h"
#include "plugins/vercel/files.h"
#include "plugins/vercel/lifecycle.h"
#include "plugins/vercel/run.h"

namespace berth::vercel {
namespace {

// In the order of their making: each stands on the ones before it.
struct Service {
  Service(boost::asio::any_io_executor executor, const Host& host, Settings settings,
          std::string_view state_dir)
      : api(std::move(executor), host, std::move(settings)),
        lifecycle(api, state_dir),
        commands(api),
        files(api, commands),
        runner(api, commands, files) {}

  Api api;
  Lifecycle lifecycle;
  Commands commands;
  Files files;
  Runner runner;
};

class VercelProvider final : public AsyncProvider {
 public:
  Awaitable<void> open(AsyncOperation&, const OpenSpec& spec) override {
    Settings settings = read_settings(host(), spec.config_json);
    try {
      service_ = std::make_unique<Service>(executor(), host(), std::move(settings), spec.state_dir);
    } catch (const std::runtime_error& error) {
      throw Failure::rejected(Code::kInvalidArgument, error.what());
    }
    co_return;
  }

  Awaitable<ProbeReport> probe(AsyncOperation& operation) override {
    co_return co_await service_->lifecycle.probe(operation);
  }
  Awaitable<Scope> scope(AsyncOperation&) override { co_return service_->api.settings().scope(); }
  Awaitable<Created> create(AsyncOperation& operation, std::string_view name,
                            const CreateSpec& spec) override {
    co_return co_await service_->lifecycle.create(operation, std::string(name), spec);
  }
  Awaitable<Found> lookup(AsyncOperation& operation, std::string_view name) override {
    co_return co_await service_->lifecycle.lookup(operation, std::string(name));
  }
  Awaitable<RunResult> run(AsyncOperation& operation, std::string_view ref,
                           const Command& command) override {
    co_return co_await service_->runner.run(operation, std::string(ref), command);
  }
  Awaitable<void> put_file(AsyncOperation& operation, std::string_view ref,
                           const PutFile& file) override {
    co_await service_->files.put(operation, std::string(ref), file);
  }
  Awaitable<GotFile> get_file(AsyncOperation& operation, std::string_view ref,
                              const GetFile& file) override {
    co_return co_await service_->files.get(operation, std::string(ref), file);
  }
  Awaitable<Destroyed> destroy(AsyncOperation& operation, std::string_view name,
                               std::string_view ref) override {
    co_return co_await service_->lifecycle.destroy(operation, std::string(name), std::string(ref));
  }
  Awaitable<ListPage> list_owned(AsyncOperation& operation, std::string_view owner_tag,
                                 std::string_view cursor) override {
    co_return co_await service_->lifecycle.list_owned(operation, std::string(owner_tag),
                                                      std::string(cursor));
  }
  Awaitable<void> shutdown(AsyncOperation&) override {
    service_.reset();
    co_return;
  }

 private:
  std::unique_ptr<Service> service_;
};

}  // namespace
}  // namespace berth::vercel

BERTH_PROVIDER(berth::vercel::VercelProvider);
